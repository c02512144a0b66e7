import CloudKitModel
import Synchronization

/// The limit on look-ups of people, so that no user tries out addresses in bulk (B-ACC-05).
final class PeopleLookups: Sendable {
    private let limiter: Mutex<RateLimiter>
    private let now: @Sendable () -> Int64

    /// - Parameter hourMax: Look-ups of one user in an hour.
    init(hourMax: Int, now: @escaping @Sendable () -> Int64) {
        limiter = Mutex(RateLimiter(burst: Double(hourMax), perSecond: Double(hourMax) / 3600))
        self.now = now
    }

    /// Counts look-ups of a caller.
    ///
    /// - Throws: `throttled`, with the time after which they can be sent.
    func count(_ lookups: Int, by caller: Caller) throws(RequestFailure) {
        guard let user = caller.user else { throw .notSignedIn }
        let wait = limiter.withLock { $0.take(lookups, by: user.recordName, at: now()) }
        if let wait { throw RequestFailure(.throttled, "too many look-ups of people", retryAfter: wait.rounded(.up)) }
    }
}
