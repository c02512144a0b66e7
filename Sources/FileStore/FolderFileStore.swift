import Dispatch
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Files in a folder: drafts in `drafts`, sealed files in `files/00` to `files/ff`, readable by their owner only.
///
/// A draft's bytes and its name's folder are flushed before a file counts as sealed; the step between is one rename. What
/// a crash leaves in `drafts` may go on or be deleted.
package final class FolderFileStore: FileStore {
    private let path: String
    private let now: @Sendable () -> Int64
    private let before: @Sendable (FileStep) throws -> Void
    private let disk: FileDisk
    /// Work that waits for the disk, in order for a file, on a few threads of its own.
    private let queues: [DispatchQueue]

    /// Drafts whose names are durable, among them some that are gone.
    private let namedDrafts = Mutex<Set<FileID>>([])

    private static let queueCount = 8
    private static let namedDraftsMax = 10_000

    /// Opens the folder, and creates it when it is missing.
    ///
    /// - Parameters:
    ///   - now: Milliseconds since 1970, for the times of files.
    ///   - before: Called before each step that changes the disk; an error that it throws ends the work there, as a crash
    /// would.
    ///   - changed: Called after each change to the disk.
    /// - Throws: `FileStoreError`, `unavailable`.
    package init(
        _ path: String, now: @escaping @Sendable () -> Int64,
        before: @escaping @Sendable (FileStep) throws -> Void = { _ in },
        changed: @escaping @Sendable (FileChange) -> Void = { _ in }
    ) throws {
        self.path = path
        self.now = now
        self.before = before
        disk = FileDisk(changed: changed)
        queues = (0..<Self.queueCount).map { DispatchQueue(label: "welkin.files.\($0)") }
        for folder in [path, path + "/drafts", path + "/files"] { try disk.makeFolder(folder) }
        try disk.synchronizeFolder(path)
        // The folder's own name, which is in its parent.
        try disk.synchronizeFolder(Self.parent(of: path))
    }

    private static func parent(of path: String) -> String {
        let name = path.reversed().drop { $0 == "/" }
        guard let slash = name.firstIndex(of: "/") else { return path.hasPrefix("/") ? "/" : "." }
        let parent = String(name[slash...].drop { $0 == "/" }.reversed())
        return parent.isEmpty ? "/" : parent
    }

    /// Returns the length of a draft in bytes; nil if there is none.
    package func draftLength(of id: FileID) async throws -> Int64? {
        try await onDisk(id) { try Self.length(self.draft(id)) }
    }

    /// Appends bytes to a draft, which is created at offset 0.
    package func append(_ bytes: [UInt8], to id: FileID, at offset: Int64) async throws {
        try await onDisk(id) { try self.appendNow(bytes, to: id, at: offset) }
    }

    /// Returns up to `count` bytes of a draft from an offset on.
    package func readDraft(_ id: FileID, at offset: Int64, count: Int) async throws -> [UInt8] {
        try await onDisk(id) { try self.read(self.draft(id), at: offset, count) }
    }

    /// Makes a draft durable.
    package func synchronize(_ id: FileID) async throws {
        try await onDisk(id) {
            try self.before(.flush)
            guard let file = try OpenFile(self.draft(id), O_RDONLY, on: self.disk) else { return }
            try file.synchronize()
            // A new draft's name, without which its bytes would be lost.
            if self.namedDrafts.withLock({ $0.contains(id) }) { return }
            try self.disk.synchronizeFolder(self.path + "/drafts")
            self.namedDrafts.withLock { named in
                if named.count >= Self.namedDraftsMax { named.removeAll() }
                named.insert(id)
            }
        }
    }

    /// Turns a draft into a file, durable on return.
    package func seal(_ id: FileID) async throws {
        try await onDisk(id) { try self.sealNow(id) }
    }

    /// Returns the length of a file in bytes; nil if there is none.
    package func length(of id: FileID) async throws -> Int64? {
        try await onDisk(id) { try Self.length(self.file(id)) }
    }

    /// Returns up to `count` bytes of a file from an offset on.
    package func read(_ id: FileID, at offset: Int64, count: Int) async throws -> [UInt8] {
        try await onDisk(id) { try self.read(self.file(id), at: offset, count) }
    }

    /// Deletes a file or draft; one that does not exist is no error, and one that is held stays.
    package func delete(_ id: FileID) async throws {
        try await onDisk(id) {
            try self.before(.delete)
            try self.disk.delete(self.draft(id))
            try FileHold.unlessHeld(self.path) { try self.disk.delete(self.file(id)) }
        }
    }

    /// Returns the files of one of the 256 folders.
    package func files(inFolder folder: UInt8) async throws -> [FileEntry] {
        try await onDisk(nil) { try Self.entries(self.folder(folder)) }
    }

    /// Returns all drafts.
    package func drafts() async throws -> [FileEntry] {
        try await onDisk(nil) { try Self.entries(self.path + "/drafts") }
    }

    /// Returns the number of bytes that the disk can still hold.
    package func freeBytes() async throws -> Int64 {
        try await onDisk(nil) {
            var status = statvfs()
            guard statvfs(self.path, &status) == 0 else { throw FileStoreError(errno, "ask for free room") }
            return Int64(clamping: UInt64(status.f_bavail) * UInt64(status.f_frsize))
        }
    }

    // MARK: On the disk's threads

    private func appendNow(_ bytes: [UInt8], to id: FileID, at offset: Int64) throws {
        try before(.append)
        // Another draft than an earlier one of this name.
        if offset == 0 { namedDrafts.withLock { _ = $0.remove(id) } }
        let flags = offset == 0 ? O_WRONLY | O_CREAT : O_WRONLY
        guard let file = try OpenFile(draft(id), flags, on: disk), try file.length == offset else {
            throw FileStoreError(.wrongOffset, "append to a file")
        }
        do {
            try file.write(bytes, at: offset)
        } catch {
            // The next writer goes on where this one began.
            try? file.truncate(to: offset)
            throw error
        }
        try file.setModified(now())
    }

    private func sealNow(_ id: FileID) throws {
        let folder = folder(id.folder)
        if try Self.length(file(id)) != nil {
            // The attempt that renamed it may have failed before its name was durable.
            try before(.flushFolder)
            return try disk.synchronizeFolder(folder)
        }
        try disk.makeFolder(folder, synchronizing: path + "/files")
        try before(.flush)
        guard let draft = try OpenFile(draft(id), O_WRONLY | O_CREAT, on: disk) else {
            throw FileStoreError(.missing, "seal a file")
        }
        try draft.setModified(now())
        try draft.synchronize()
        try before(.rename)
        try disk.rename(self.draft(id), to: file(id))
        try before(.flushFolder)
        try disk.synchronizeFolder(folder)
    }

    /// - Parameter id: The file it is about: its work is done in order.
    private func onDisk<Value: Sendable>(
        _ id: FileID?, _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        let queue = queues[Int(id?.folder ?? 0) % Self.queueCount]
        return try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result(catching: work)) }
        }
    }

    private func draft(_ id: FileID) -> String { path + "/drafts/" + id.name }
    private func file(_ id: FileID) -> String { folder(id.folder) + "/" + id.name }

    private func folder(_ number: UInt8) -> String {
        let digits = String(number, radix: 16)
        return path + "/files/" + (digits.utf8.count == 1 ? "0" : "") + digits
    }
}

/// The steps of a file store's work on the disk: the places where a test lets it die.
package enum FileStep: Hashable, Sendable, CaseIterable {
    case append, flush, rename, flushFolder, delete
}

extension FolderFileStore {
    private static func length(_ path: String) throws -> Int64? {
        var status = stat()
        if lstat(path, &status) == 0 { return Int64(status.st_size) }
        if errno == ENOENT { return nil }
        throw FileStoreError(errno, "look at a file")
    }

    private func read(_ path: String, at offset: Int64, _ count: Int) throws -> [UInt8] {
        guard let file = try OpenFile(path, O_RDONLY, on: disk) else { throw FileStoreError(.missing, "read a file") }
        return try file.read(at: offset, count: count)
    }

    private static func entries(_ path: String) throws -> [FileEntry] {
        guard let folder = opendir(path) else {
            if errno == ENOENT { return [] }
            throw FileStoreError(errno, "list a folder")
        }
        defer { closedir(folder) }
        var entries: [FileEntry] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            var status = stat()
            // Gone meanwhile, or none of ours.
            guard let id = FileID(name: name), lstat(path + "/" + name, &status) == 0 else { continue }
            entries.append(FileEntry(id: id, length: Int64(status.st_size), modified: status.modified))
        }
        return entries
    }
}

extension stat {
    fileprivate var modified: Int64 {
        #if canImport(Darwin)
            let time = st_mtimespec
        #else
            let time = st_mtim
        #endif
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
