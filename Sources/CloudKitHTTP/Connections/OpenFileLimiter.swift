import CloudKitModel
import Synchronization

/// Limits the files that transfers have open at the same time.
final class OpenFileLimiter: Sendable {
    private let filesMax: Int
    private let open = Mutex(0)

    init(filesMax: Int) { self.filesMax = filesMax }

    /// The permission to have one file open, for as long as it is kept.
    final class Permission: Sendable {
        private let limiter: OpenFileLimiter

        fileprivate init(_ limiter: OpenFileLimiter) { self.limiter = limiter }

        deinit { limiter.open.withLock { $0 -= 1 } }
    }

    /// Returns the permission to open a file.
    ///
    /// - Throws: `tryAgainLater` while too many are open.
    func permission() throws(RequestFailure) -> Permission {
        let isAllowed = open.withLock { open in
            guard open < filesMax else { return false }
            open += 1
            return true
        }
        guard isAllowed else {
            throw RequestFailure(.tryAgainLater, "too many transfers of files are under way", retryAfter: 2)
        }
        return Permission(self)
    }
}
