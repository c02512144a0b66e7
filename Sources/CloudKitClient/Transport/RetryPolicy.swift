import CloudKitModel

/// Decides whether a failed request is sent again automatically, and when (B-OPS-04, B-THR-04).
struct RetryPolicy: Hashable, Sendable {
    /// The maximum number of times that a request is sent, the first one included.
    var attemptsMax: Int
    /// The first pause; each further one is twice as long.
    var firstDelay: Duration
    /// A server that asks for a longer wait is obeyed by giving up.
    var delayMax: Duration

    /// User-initiated and user-interactive work fails fast.
    static let failFast = RetryPolicy(attemptsMax: 1, firstDelay: .zero, delayMax: .zero)
    /// The default level and everything below it can wait.
    static let discretionary = RetryPolicy(attemptsMax: 4, firstDelay: .milliseconds(500), delayMax: .seconds(60))

    /// Returns the pause before the request is sent again; nil: do not.
    ///
    /// - Parameters:
    ///   - attempt: The number of times that the request was sent so far.
    ///   - isRepeatable: Whether the request may take effect twice. A tag-checked save may not: its repetition would
    ///     report a conflict with itself, so when a response is lost the app decides (B-THR-07).
    ///   - random: From 0 to 1.
    func delay(after failure: CallFailure, attempt: Int, isRepeatable: Bool, random: Double) -> Duration? {
        guard attempt < attemptsMax,
            let requestedDelay = Self.requestedDelay(after: failure, isRepeatable: isRepeatable)
        else {
            return nil
        }
        let backoff = firstDelay * (1 << (attempt - 1))
        let jittered = backoff * (0.5 + random)
        let delay = max(requestedDelay, jittered)
        return delay <= delayMax ? delay : nil
    }

    /// The wait the server asks for at least; nil when repeating makes no sense.
    private static func requestedDelay(after failure: CallFailure, isRepeatable: Bool) -> Duration? {
        switch failure {
        case .refused(let refusal):
            switch refusal.code {
            case .zoneBusy, .throttled, .tryAgainLater: .seconds(refusal.retryAfter ?? 0)
            default: nil
            }
        // Nothing was sent: any request may be sent again.
        case .transport(.unreachable, _):
            .zero
        case .transport(.connectionLost, _), .transport(.answerLost, _), .transport(.timedOut, _):
            isRepeatable ? .zero : nil
        default:
            nil
        }
    }
}
