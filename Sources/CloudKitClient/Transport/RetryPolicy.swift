import CloudKitModel

/// Decides whether a failed request is sent again automatically, and when (B-OPS-04, B-THR-04, B-THR-07).
struct RetryPolicy: Hashable, Sendable {
    /// The maximum number of times that a request is sent, the first one included.
    var attemptsMax: Int
    /// The maximum number of times that a request is sent whose answers are lost; nil: as `attemptsMax`.
    var lostAttemptsMax: Int?
    /// The maximum number of times that a request is sent to a cloud that is not reached; nil: as `attemptsMax`.
    var unreachableAttemptsMax: Int?
    /// The first pause; each further one is twice as long, up to 5 seconds or this one.
    var firstDelay: Duration
    /// A server that asks for a longer wait is obeyed by giving up.
    var delayMax: Duration
    /// The time since the request was first sent within which it is sent again to a cloud that says that it is away for a while.
    var patience: Duration = .zero
    /// The time within which it is sent again to a cloud that has answered before, and whose host now refuses connections: its server, or the proxy
    /// before it, starts again. Counted from the first of the refusals that follow one another, or from the last answer to any request, within
    /// `patience`: what happened to the request before, another restart perhaps, does not shorten it.
    var restartPatience: Duration = .zero

    /// User-initiated and user-interactive work fails fast where there is no network, or too much work; it asks again what became of a request
    /// that was sent, and waits for a cloud that is there and changes its database server, or starts again.
    static let failFast = RetryPolicy(
        attemptsMax: 1, lostAttemptsMax: 8, firstDelay: .milliseconds(250), delayMax: .seconds(60),
        patience: .seconds(60), restartPatience: .seconds(10))
    /// The default level and everything below it can wait.
    static let discretionary = RetryPolicy(
        attemptsMax: 4, lostAttemptsMax: 8, unreachableAttemptsMax: 7, firstDelay: .milliseconds(500),
        delayMax: .seconds(60), patience: .seconds(60), restartPatience: .seconds(20))

    /// A cloud that asks for a longer wait is not away for a moment.
    static let awayWaitMax = Duration.seconds(10)

    private static let backoffMax = Duration.seconds(5)
    /// A host that refuses connections is asked more often: that costs little, and the cloud may be there for a moment only.
    private static let closedBackoffMax = Duration.seconds(1)

    /// The reasons for which a request may be sent again.
    enum Cause: Hashable {
        /// The server asks for a pause.
        case refused
        /// The server, or its store, is away for a while.
        case away
        /// Whether the request had an effect is not known.
        case lost
        /// Nothing was sent, or nothing came for long.
        case unreachable, timedOut
        /// Nothing was sent: no server listens.
        case closed
    }

    /// Failures of a request that follow one another and have one cause.
    struct Streak: Hashable {
        var count = 1
        /// The time since the first of them.
        var lasting = Duration.zero
    }

    /// Returns the pause before the request is sent again; nil: do not.
    ///
    /// - Parameters:
    ///   - attempt: The number of times that the request was sent so far.
    ///   - count: The number of times that it failed for the cause of this failure; nil: all of them.
    ///   - isRepeatable: Whether the request may be sent twice: it has the same effect then, or the cloud remembers that it was served. A
    ///     tag-checked save of which the cloud remembers nothing would report a conflict with itself, so when its response is lost the app
    ///     decides (B-THR-07).
    ///   - elapsed: The time since the request was first sent.
    ///   - streak: The last failures, this one included, that have the cause of this one.
    ///   - sinceAnswer: The time since the cloud has answered any request of this process; nil: it has not.
    ///   - random: From 0 to 1.
    func delay(
        after failure: CallFailure, attempt: Int, count: Int? = nil, isRepeatable: Bool, elapsed: Duration = .zero,
        streak: Streak = Streak(), sinceAnswer: Duration? = nil, random: Double
    ) -> Duration? {
        guard let cause = Self.cause(of: failure, isRepeatable: isRepeatable) else { return nil }
        // What happened before a restart says nothing of how long it takes.
        if cause == .closed, let sinceAnswer {
            let delay = backoff(streak.count, atMost: Self.closedBackoffMax, random)
            if min(streak.lasting, sinceAnswer) + delay <= restartPatience, elapsed + delay <= patience { return delay }
        }
        let delay = max(backoff(attempt, atMost: Self.backoffMax, random), failure.requestedDelay)
        guard delay <= delayMax else { return nil }
        if cause == .away, elapsed + delay <= patience { return delay }
        return (count ?? attempt) < countMax(cause) ? delay : nil
    }

    /// Returns a pause that doubles with each step, by chance up to a half shorter or longer.
    private func backoff(_ step: Int, atMost delayMax: Duration, _ random: Double) -> Duration {
        min(firstDelay * (1 << min(step - 1, 16)), max(firstDelay, delayMax)) * (0.5 + random)
    }

    private func countMax(_ cause: Cause) -> Int {
        switch cause {
        case .refused, .away, .timedOut: attemptsMax
        case .lost: lostAttemptsMax ?? attemptsMax
        case .unreachable, .closed: unreachableAttemptsMax ?? attemptsMax
        }
    }

    /// Returns the cause for which a request may be sent again; nil: repeating makes no sense.
    static func cause(of failure: CallFailure, isRepeatable: Bool) -> Cause? {
        switch failure {
        case .refused(let refusal):
            switch refusal.code {
            case .zoneBusy, .throttled, .tryAgainLater: return .refused
            case .serverUnavailable: return isRepeatable && failure.requestedDelay <= awayWaitMax ? .away : .refused
            default: return nil
            }
        case .transport(.unreachable, _): return .unreachable
        case .transport(.refused, _): return .closed
        case .transport(.connectionLost, _), .transport(.answerLost, _): return isRepeatable ? .lost : nil
        case .transport(.timedOut, _): return isRepeatable ? .timedOut : nil
        default: return nil
        }
    }
}

extension CallFailure {
    /// The wait the server asks for.
    fileprivate var requestedDelay: Duration {
        guard case .refused(let refusal) = self else { return .zero }
        return .seconds(refusal.retryAfter ?? 0)
    }
}
