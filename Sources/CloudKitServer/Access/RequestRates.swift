import CloudKitModel
import Synchronization

/// The limits on requests that an operator has set, for each user and for each container (B-THR-06).
///
/// A sender who was quiet may send those of ten seconds at once.
package final class RequestRates: Sendable {
    private let users: Mutex<RateLimiter?>
    private let containers: Mutex<RateLimiter?>
    private let isLimited: Bool
    private let now: @Sendable () -> Int64
    private let nodes: @Sendable () -> Int

    /// Seconds whose requests may be sent at once.
    private static let burstSeconds = 10.0

    /// - Parameter nodes: Returns the number of nodes, each of which gives its part.
    init(
        limits: Limits, now: @escaping @Sendable () -> Int64, nodes: @escaping @Sendable () -> Int = { 1 }
    ) {
        self.nodes = nodes
        users = Mutex(Self.limiter(limits.userRequestsPerSecond))
        containers = Mutex(Self.limiter(limits.containerRequestsPerSecond))
        isLimited = limits.userRequestsPerSecond != nil || limits.containerRequestsPerSecond != nil
        self.now = now
    }

    private static func limiter(_ perSecond: Double?) -> RateLimiter? {
        perSecond.map { RateLimiter(burst: max(1, $0 * burstSeconds), perSecond: $0) }
    }

    /// Counts a request.
    ///
    /// One that its user's limit refuses does not count for the container, so that one user cannot use up the allowance of all.
    ///
    /// - Parameter user: nil: an app without a user, or a server key, which the container's limit alone bounds.
    /// - Throws: `throttled`, with the time after which it can be sent.
    package func count(
        _ user: UserID?, in container: ContainerID, _ environment: Environment
    ) throws(RequestFailure) {
        guard isLimited else { return }
        let place = "\(environment.rawValue)/\(container.name)"
        let now = now()
        let nodes = nodes()
        if let user, let wait = users.withLock({ $0?.take(by: "\(place)/\(user.recordName)", at: now, among: nodes) }) {
            throw RequestFailure(.throttled, "request rate limited for the user", retryAfter: wait.rounded(.up))
        }
        if let wait = containers.withLock({ $0?.take(by: place, at: now, among: nodes) }) {
            throw RequestFailure(.throttled, "request rate limited for the container", retryAfter: wait.rounded(.up))
        }
    }
}
