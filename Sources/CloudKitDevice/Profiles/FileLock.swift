import Foundation

/// Keeps other processes out while a file is read, changed and written back. The lock ends with its holder.
package enum FileLock {
    /// Runs `body` while holding the lock of a file, waiting for other processes that hold it.
    package static func hold<Value>(_ path: String, _ body: () throws -> Value) throws -> Value {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FileFailure("open the lock", errno) }
        defer { close(descriptor) }
        while flock(descriptor, LOCK_EX) != 0 {
            guard errno == EINTR else { throw FileFailure("take the lock", errno) }
        }
        return try body()
    }
}

/// A claim of this process on a path for the lifetime of the object: other processes, and a second claim here, are
/// refused at once.
package final class FileClaim: Sendable {
    private let descriptor: Int32

    /// - Parameter path: A file that is made when it is missing, mode 0600.
    /// - Returns: nil: it is claimed already, or the file cannot be made.
    package init?(_ path: String) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return nil }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }
}

/// The identity of one version of a file, without reading it.
package struct FileStamp: Hashable, Sendable {
    /// The number of the file within its file system.
    package var inode: UInt64
    /// Bytes.
    package var size: Int64
    /// The time of the last change of the contents, since 1970.
    package var seconds: Int64
    /// The time of the last modification, in nanoseconds since 1970.
    package var nanoseconds: Int64
    /// A Boolean value that indicates whether it is a file with contents: no folder, pipe or device.
    package var isRegular: Bool

    /// Reads the attributes of a file; nil when there is no such file.
    package init?(path: String) {
        var info = stat()
        guard stat(path, &info) == 0 else { return nil }
        self.init(info)
    }

    /// nil when the descriptor is not open.
    package init?(descriptor: Int32) {
        var info = stat()
        guard fstat(descriptor, &info) == 0 else { return nil }
        self.init(info)
    }

    private init(_ info: stat) {
        isRegular = info.st_mode & S_IFMT == S_IFREG
        inode = UInt64(info.st_ino)
        size = Int64(info.st_size)
        #if canImport(Darwin)
            seconds = Int64(info.st_mtimespec.tv_sec)
            nanoseconds = Int64(info.st_mtimespec.tv_nsec)
        #else
            seconds = Int64(info.st_mtim.tv_sec)
            nanoseconds = Int64(info.st_mtim.tv_nsec)
        #endif
    }
}
