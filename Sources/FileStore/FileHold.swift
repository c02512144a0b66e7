#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Keeps the sealed files of a folder from being deleted, by any process, as long as this object lives.
///
/// A deletion meanwhile leaves the file: once its database has forgotten it, the sweep removes it as one that no database knows.
package final class FileHold: Sendable {
    private let descriptor: Int32

    /// Holds the files of the store in a folder, after the deletions under way.
    ///
    /// - Parameters:
    ///   - attemptsMax: How often to try, while deletions are under way or another process holds the files.
    ///   - pause: Microseconds between two attempts.
    /// - Returns: nil if another process holds the files, or the folder cannot be written to.
    package init?(_ folder: String, attemptsMax: Int = 100, pause: UInt32 = 10_000) {
        let descriptor = open(Self.path(in: folder), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return nil }
        for attempt in 1...max(1, attemptsMax) {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
                self.descriptor = descriptor
                return
            }
            if attempt < attemptsMax { usleep(pause) }
        }
        close(descriptor)
        return nil
    }

    deinit { close(descriptor) }

    private static func path(in folder: String) -> String { folder + "/hold.lock" }

    /// Runs `deletion` unless the files of a folder are held.
    static func unlessHeld(_ folder: String, _ deletion: () throws -> Void) throws {
        let descriptor = open(path(in: folder), O_RDONLY | O_CLOEXEC)
        // Without the file nothing was ever held.
        guard descriptor >= 0 else { return try deletion() }
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_SH | LOCK_NB) == 0 else { return }
        try deletion()
    }
}
