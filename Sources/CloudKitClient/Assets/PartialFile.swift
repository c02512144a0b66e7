import CloudKitDevice
import Foundation

#if canImport(CFileWriteback)
    import CFileWriteback
#endif

/// An incomplete file of the cache, locked against other processes that fetch it.
///
/// Belongs to the one task that writes it. Unless it is discarded, the next task continues with the bytes left behind.
final class PartialFile {
    let path: String
    private let descriptor: Int32
    private var isDiscarded: Bool

    /// - Parameter isPassing: Whether no later attempt will use the bytes left behind.
    /// - Returns: nil when another process holds the lock.
    init?(_ path: String, isPassing: Bool) throws(FileFailure) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FileFailure("make a file for what is fetched", errno) }
        self.path = path
        self.descriptor = descriptor
        isDiscarded = false
        // Between opening and locking, the previous holder may have moved the file to its final path.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0,
            FileStamp(path: path)?.inode == FileStamp(descriptor: descriptor)?.inode
        else { return nil }
        isDiscarded = isPassing
    }

    deinit {
        if isDiscarded { unlink(path) }
        close(descriptor)
    }

    /// Leaves nothing behind.
    func discard() { isDiscarded = true }

    /// Moves to the end of the usable bytes that an earlier attempt left.
    ///
    /// - Parameters:
    ///   - step: The unit in bytes; only a multiple of it is usable.
    ///   - sizeMax: The maximum length; a longer file is discarded.
    ///   - take: Receives the bytes that are kept.
    func begin(wholeSteps step: Int64, atMost sizeMax: Int64, _ take: ([UInt8]) -> Void) throws(FileFailure) {
        guard let left = FileStamp(descriptor: descriptor)?.size, left <= sizeMax else { return try empty() }
        let size = left / step * step
        guard ftruncate(descriptor, off_t(size)) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else {
            throw FileFailure("go on with a file", errno)
        }
        var chunk = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = Foundation.read(descriptor, &chunk, chunk.count)
            if count > 0 {
                take(Array(chunk[..<count]))
            } else if count == 0 {
                return
            } else if errno != EINTR {
                throw FileFailure("go on with a file", errno)
            }
        }
    }

    /// Starts over.
    func empty() throws(FileFailure) {
        guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else {
            throw FileFailure("empty a file", errno)
        }
    }

    /// - Throws: With `ENOSPC` when the disk is full.
    func write(_ bytes: [UInt8]) throws(FileFailure) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                throw FileFailure("write a fetched file", errno)
            }
        }
        #if canImport(CFileWriteback)
            // The disk works while the next bytes come, and the end of the file is durable sooner.
            begin_writeback(descriptor, Int64(bytes.count))
        #endif
    }

    /// Makes the file durable, with these access and modification times; the caller then renames it.
    func finish(whole times: [timespec]) throws(FileFailure) {
        guard fsync(descriptor) == 0, futimens(descriptor, times) == 0 else {
            throw FileFailure("write a fetched file", errno)
        }
        isDiscarded = false
    }
}
