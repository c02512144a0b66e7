#if canImport(CFileWriteback)
    import CFileWriteback
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A change that a file store made to its folder, by paths.
package enum FileChange: Hashable, Sendable {
    /// A folder was made; not yet durably.
    case madeFolder(String)
    case removedFolder(String)
    /// A file was opened, and made if it was not there.
    case created(String)
    case wrote(String, offset: Int64, bytes: [UInt8])
    case shortened(String, length: Int64)
    /// The contents of a file, or the names in a folder, became durable.
    case synchronized(String)
    case renamed(String, to: String)
    case deleted(String)
}

/// The system's calls with which a file store changes its folder, each reported once it has succeeded.
struct FileDisk: Sendable {
    let changed: @Sendable (FileChange) -> Void

    /// Makes a folder, durable on return unless there is no parent to synchronize; one that exists is no error.
    func makeFolder(_ path: String, synchronizing parent: String? = nil) throws {
        if mkdir(path, 0o700) == 0 {
            changed(.madeFolder(path))
            guard let parent else { return }
            do {
                try synchronizeFolder(parent)
            } catch {
                // The next attempt makes it again, durably.
                if rmdir(path) == 0 { changed(.removedFolder(path)) }
                throw error
            }
        } else if errno != EEXIST {
            throw FileStoreError(errno, "make a folder")
        }
    }

    /// Makes the names in a folder durable.
    func synchronizeFolder(_ path: String) throws {
        guard let folder = try OpenFile(path, O_RDONLY | O_DIRECTORY, on: self) else {
            throw FileStoreError(.unavailable, "open a folder")
        }
        try folder.synchronize()
    }

    func rename(_ path: String, to other: String) throws {
        guard systemRename(path, other) == 0 else { throw FileStoreError(errno, "seal a file") }
        changed(.renamed(path, to: other))
    }

    /// Deletes a file; one that does not exist is no error.
    func delete(_ path: String) throws {
        if unlink(path) == 0 { return changed(.deleted(path)) }
        if errno != ENOENT { throw FileStoreError(errno, "delete a file") }
    }
}

private func systemRename(_ path: String, _ other: String) -> Int32 { rename(path, other) }

/// An open file or folder, closed at the end of its life.
struct OpenFile: ~Copyable {
    private let path: String
    private let disk: FileDisk
    private let descriptor: Int32

    /// nil when there is no such file.
    init?(_ path: String, _ flags: Int32, on disk: FileDisk) throws {
        self.path = path
        self.disk = disk
        descriptor = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0o600)
        if descriptor >= 0 {
            if flags & O_CREAT != 0 { disk.changed(.created(path)) }
            return
        }
        if errno == ENOENT { return nil }
        throw FileStoreError(errno, "open a file")
    }

    deinit { close(descriptor) }

    var length: Int64 {
        get throws {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { throw FileStoreError(errno, "look at a file") }
            return Int64(status.st_size)
        }
    }

    func write(_ bytes: [UInt8], at offset: Int64) throws {
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes {
                pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset) + off_t(written))
            }
            if count > 0 {
                written += count
            } else if errno != EINTR {
                throw FileStoreError(errno, "write a file")
            }
        }
        #if canImport(CFileWriteback)
            // The disk works while the next bytes come, and the piece is flushed sooner.
            begin_writeback(descriptor, Int64(written))
        #endif
        disk.changed(.wrote(path, offset: offset, bytes: bytes))
    }

    func read(at offset: Int64, count: Int) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[filled...])
                let got = pread(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(filled))
                if got == 0 { return }
                if got > 0 {
                    filled += got
                } else if errno != EINTR {
                    throw FileStoreError(errno, "read a file")
                }
            }
        }
    }

    func truncate(to length: Int64) throws {
        guard ftruncate(descriptor, off_t(length)) == 0 else { throw FileStoreError(errno, "shorten a file") }
        disk.changed(.shortened(path, length: length))
    }

    func setModified(_ milliseconds: Int64) throws {
        let time = timespec(tv_sec: Int(milliseconds / 1000), tv_nsec: Int(milliseconds % 1000 * 1_000_000))
        guard futimens(descriptor, [time, time]) == 0 else { throw FileStoreError(errno, "date a file") }
    }

    func synchronize() throws {
        guard fsync(descriptor) == 0 else { throw FileStoreError(errno, "flush a file") }
        disk.changed(.synchronized(path))
    }
}

extension FileStoreError {
    /// - Parameter number: The system's.
    init(_ number: Int32, _ action: String) {
        let isFull = number == ENOSPC || number == EDQUOT || number == EFBIG
        self.init(isFull ? .diskFull : .unavailable, action, number: number)
    }
}
