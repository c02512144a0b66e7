import CloudKitModel
import Synchronization

/// The limit on look-ups of people, so that no user tries out addresses in bulk (B-ACC-05).
final class PeopleLookups: Sendable {
    private let limiter: Mutex<RateLimiter>
    private let now: @Sendable () -> Int64
    private let nodes: @Sendable () -> Int

    /// - Parameters:
    ///   - hourMax: Look-ups of one user in an hour.
    ///   - nodes: Returns the number of nodes, each of which gives its part.
    init(hourMax: Int, now: @escaping @Sendable () -> Int64, nodes: @escaping @Sendable () -> Int = { 1 }) {
        self.nodes = nodes
        limiter = Mutex(RateLimiter(burst: Double(hourMax), perSecond: Double(hourMax) / 3600))
        self.now = now
    }

    /// Admits a request for look-ups, and counts them.
    ///
    /// - Throws: `badRequest` outside of the public database, `authenticationRequired`: only users may learn who has an account,
    ///   `itemLimitExceeded`, `throttled` with the time after which they can be sent.
    func admit(_ lookups: Int, by caller: Caller, in address: DatabaseAddress) throws(RequestFailure) {
        guard address.scope == .public else { throw .notApplicable(in: address.scope) }
        guard let user = caller.user, !caller.isServerKey else { throw .notSignedIn }
        try caller.checkItemCount(lookups)
        try count(lookups, by: user)
    }

    private func count(_ lookups: Int, by user: UserID) throws(RequestFailure) {
        let wait = limiter.withLock { $0.take(lookups, by: user.recordName, at: now(), among: nodes()) }
        if let wait { throw RequestFailure(.throttled, "too many look-ups of people", retryAfter: wait.rounded(.up)) }
    }
}
