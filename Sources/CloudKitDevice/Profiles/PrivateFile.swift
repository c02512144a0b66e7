import Foundation

/// Files that only their owner may read, replaced as a whole.
package enum PrivateFile {
    /// Makes a folder of mode 0700, and those above it that are missing.
    package static func makeFolder(_ path: String) throws(FileFailure) {
        guard mkdir(path, 0o700) != 0 else { return }
        if errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex {
            try makeFolder(String(path[..<slash]))
            guard mkdir(path, 0o700) != 0 else { return }
        }
        guard errno == EEXIST else { throw FileFailure("make the folder", errno) }
    }

    /// The bytes of a file; nil when there is none.
    package static func read(_ path: String) throws(FileFailure) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw FileFailure("open the file", errno)
        }
        defer { close(descriptor) }
        return try readAll(descriptor)
    }

    /// Returns the bytes of a file; when there is none, creates it with `fresh`. Of several processes that create it one
    /// wins, for all.
    package static func readOrCreate(_ path: String, _ fresh: @autoclosure () -> [UInt8]) throws(FileFailure) -> [UInt8]
    {
        if let held = try read(path) { return held }
        let bytes = fresh()
        let draft = try draft(of: path, bytes)
        defer { unlink(draft) }
        if link(draft, path) == 0 { return bytes }
        guard errno == EEXIST, let held = try read(path) else { throw FileFailure("create the file", errno) }
        return held
    }

    /// Puts `bytes` under `path`, mode 0600, so that a reader sees the old file or the new one and a crash leaves one of
    /// them.
    ///
    /// - Parameter isForced: Whether a failure of the power leaves one of them as well.
    package static func replace(_ path: String, with bytes: [UInt8], isForced: Bool = true) throws(FileFailure) {
        let draft = try draft(of: path, bytes, isForced: isForced)
        guard rename(draft, path) == 0 else {
            let failure = FileFailure("replace the file", errno)
            unlink(draft)
            throw failure
        }
    }

    /// Adds `bytes` at the end of a file, which is made with mode 0600 when it is missing. They are not forced to the disk.
    package static func append(_ bytes: [UInt8], to path: String) throws(FileFailure) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FileFailure("open the file", errno) }
        defer { close(descriptor) }
        try writeAll(bytes, to: descriptor)
    }

    /// Removes a file; one that does not exist is no error.
    package static func remove(_ path: String) throws(FileFailure) {
        guard unlink(path) == 0 || errno == ENOENT else { throw FileFailure("remove the file", errno) }
    }

    /// Removes a folder of files; one that does not exist is no error. Folders in it are not removed.
    ///
    /// - Parameter kept: The name of a file that stays with its lock, and then the folder, too.
    package static func removeFolder(_ path: String, except kept: String? = nil) throws(FileFailure) {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else { return }
        let stays = kept.map { [$0, $0 + lockSuffix] } ?? []
        for name in names where !stays.contains(name) { try remove(path + "/" + name) }
        if let kept, names.contains(kept) { return }
        guard rmdir(path) == 0 || errno == ENOENT else { throw FileFailure("remove the folder", errno) }
    }

    /// Writes a file in the folder of `path`, under a name that other processes do not know yet.
    private static func draft(
        of path: String, _ bytes: [UInt8], isForced: Bool = true
    ) throws(FileFailure) -> String {
        let draft = path + ".\(getpid()).\(UInt32.random(in: 0 ... .max)).new"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FileFailure("create a file", errno) }
        defer { close(descriptor) }
        do throws(FileFailure) {
            try writeAll(bytes, to: descriptor)
            guard !isForced || fsync(descriptor) == 0 else { throw FileFailure("write the file", errno) }
        } catch {
            unlink(draft)
            throw error
        }
        return draft
    }

    private static func readAll(_ descriptor: Int32) throws(FileFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = Foundation.read(descriptor, &chunk, chunk.count)
            if count == 0 { return bytes }
            if count > 0 {
                bytes += chunk[..<count]
            } else if errno != EINTR {
                throw FileFailure("read the file", errno)
            }
        }
    }

    private static func writeAll(_ bytes: [UInt8], to descriptor: Int32) throws(FileFailure) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                throw FileFailure("write the file", errno)
            }
        }
    }
}

/// A file operation that the system refused.
package struct FileFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The action that failed.
    package var action: String
    /// The number of the system's error.
    package var code: Int32

    /// Creates the failure of an action from the number of the system's error.
    package init(_ action: String, _ code: Int32) {
        self.action = action
        self.code = code
    }

    /// A textual form of the value, for logs and debugging.
    package var description: String { "could not \(action): \(String(cString: strerror(code)))" }
}
