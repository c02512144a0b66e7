import CloudKitModel

/// The failures of one request so far, by which a policy decides whether it is sent again.
struct RetryHistory: Sendable {
    /// The time from which the policy's patience counts, on the connection's clock.
    private let start: Duration
    /// The number of failures.
    private var failures = 0
    private var counts: [RetryPolicy.Cause: Int] = [:]
    /// The cause of the last failures that have one, their number, and the time of the first of them.
    private var last: (cause: RetryPolicy.Cause, count: Int, since: Duration)?

    init(start: Duration) { self.start = start }

    /// Notes a failure, and returns the pause before the request is sent again; nil: do not.
    ///
    /// - Parameter isRepeatable: Whether the request may be sent twice.
    mutating func delay(
        after failure: CallFailure, by policy: RetryPolicy, isRepeatable: Bool, of cloud: CloudAccess
    ) -> Duration? {
        failures += 1
        guard let cause = RetryPolicy.cause(of: failure, isRepeatable: isRepeatable) else { return nil }
        let now = cloud.clientEnvironment.now()
        counts[cause, default: 0] += 1
        let before = last.flatMap { $0.cause == cause ? $0 : nil }
        let (count, since) = ((before?.count ?? 0) + 1, before?.since ?? now)
        last = (cause, count, since)
        return policy.delay(
            after: failure, attempt: failures, count: counts[cause], isRepeatable: isRepeatable,
            elapsed: now - start, streak: RetryPolicy.Streak(count: count, lasting: now - since),
            sinceAnswer: cloud.contact.lastAnswer.map { now - $0 },
            random: cloud.clientEnvironment.random())
    }
}
