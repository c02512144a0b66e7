import CloudKitModel

/// Whether a failed request is sent again by itself, and when (B-OPS-04, B-THR-04).
struct RetryPolicy: Hashable, Sendable {
    /// How often a request is sent, the first time included.
    var attemptsMax: Int
    /// The first wait; each further one is twice as long.
    var firstDelay: Duration
    /// A server that asks for a longer wait is obeyed by giving up.
    var delayMax: Duration

    /// User-initiated and user-interactive work fails fast.
    static let failFast = RetryPolicy(attemptsMax: 1, firstDelay: .zero, delayMax: .zero)
    /// The default level and everything below it can wait.
    static let discretionary = RetryPolicy(attemptsMax: 4, firstDelay: .milliseconds(500), delayMax: .seconds(60))

    /// How long to wait before sending the request again; nil: do not.
    ///
    /// - Parameters:
    ///   - attempt: How often the request was sent so far.
    ///   - isRepeatable: Whether the request may take effect twice. A tag-checked save may not: its repetition would
    ///     report a conflict with itself, so when an answer is lost the app decides (B-THR-07).
    ///   - random: From 0 to 1.
    func delay(after failure: CallFailure, attempt: Int, isRepeatable: Bool, random: Double) -> Duration? {
        guard attempt < attemptsMax, let wish = Self.wish(after: failure, isRepeatable: isRepeatable) else {
            return nil
        }
        let backoff = firstDelay * (1 << (attempt - 1))
        let jittered = backoff * (0.5 + random)
        let delay = max(wish, jittered)
        return delay <= delayMax ? delay : nil
    }

    /// The wait the server asks for at least; nil when repeating makes no sense.
    private static func wish(after failure: CallFailure, isRepeatable: Bool) -> Duration? {
        switch failure {
        case .refused(let refusal):
            switch refusal.code {
            case .zoneBusy, .throttled, .tryAgainLater: .seconds(refusal.retryAfter ?? 0)
            default: nil
            }
        // Nothing was sent: whatever it was may be sent again.
        case .transport(.unreachable):
            .zero
        case .transport(.connectionLost), .transport(.answerLost), .transport(.timedOut):
            isRepeatable ? .zero : nil
        default:
            nil
        }
    }
}
