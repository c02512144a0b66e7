/// Decides whether a transaction that failed is run again, and after which pause.
///
/// Pure: the failures and the time are passed in.
struct TransactionRetry {
    enum Step: Hashable {
        case again(after: Duration)
        case giveUp
    }

    /// Conflicts after which other transactions are given the blame.
    private static let conflictsMax = 20
    private let awayMax: Duration
    private var conflictCount = 0
    private var awayCount = 0
    /// The instant of the first failure since which the server was away.
    private var awaySince: UInt64?

    /// - Parameter awayMax: The time for which a server that is away is waited for.
    init(awayMax: Duration) {
        self.awayMax = awayMax
    }

    /// Notes a failure.
    ///
    /// - Parameters:
    ///   - now: Nanoseconds of a clock that is never set back.
    ///   - chance: A random number, so that those who collided do not meet again.
    mutating func next(after failure: PostgresFailure, at now: UInt64, chance: UInt64) -> Step {
        switch failure {
        case .refused: return .giveUp
        case .conflict:
            conflictCount += 1
            if conflictCount > Self.conflictsMax { return .giveUp }
            // Up to 1, 2, 4 … 128 ms.
            return .again(after: .microseconds(Int64(chance % (1000 << UInt64(min(conflictCount - 1, 7))))))
        case .away:
            let since = awaySince ?? now
            awaySince = since
            awayCount += 1
            // A connection that was lost while it was idle is replaced at once.
            if awayCount == 1 { return .again(after: .zero) }
            if now &- since >= awayMax.nanoseconds { return .giveUp }
            // 50, 100, 200, 400 ms, then 1 s, with up to a quarter more.
            let pause = min(50 << Int64(min(awayCount - 2, 5)), 1000)
            return .again(after: .milliseconds(pause) + .milliseconds(Int64(chance % UInt64(pause / 4 + 1))))
        }
    }
}
