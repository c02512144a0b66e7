import OrderedStore
import Testing

@testable import OrderedStorePostgres

@Suite("Repetitions of transactions", .timeLimit(.minutes(20)))
struct TransactionRetryTests {
    private let conflict = PostgresFailure(state: "40001", details: [:])
    private let away = PostgresFailure.away(.lostConnection([:]))
    private let second: UInt64 = 1_000_000_000

    @Test func `conflicts are repeated with longer and longer pauses, then given up`() {
        var policy = TransactionRetry(awayMax: .seconds(10))
        var longest: [Duration] = []
        for _ in 0..<20 {
            guard case .again(let pause) = policy.next(after: conflict, at: 0, chance: 1000 << 7 - 1) else {
                Issue.record("given up")
                return
            }
            longest.append(pause)
        }
        #expect(longest.allSatisfy { $0 <= .milliseconds(128) })
        #expect(policy.next(after: conflict, at: 0, chance: 0) == .giveUp)
    }

    @Test func `a lost connection is replaced at once, a server that stays away is waited for`() {
        var policy = TransactionRetry(awayMax: .seconds(10))
        #expect(policy.next(after: away, at: 0, chance: 0) == .again(after: .zero))
        #expect(policy.next(after: away, at: 0, chance: 0) == .again(after: .milliseconds(50)))
        #expect(policy.next(after: away, at: second, chance: 0) == .again(after: .milliseconds(100)))
        for _ in 0..<10 { _ = policy.next(after: away, at: 2 * second, chance: 0) }
        #expect(policy.next(after: away, at: 9 * second, chance: 0) == .again(after: .milliseconds(1000)))
        #expect(policy.next(after: away, at: 10 * second, chance: 0) == .giveUp)
    }

    @Test func `a refusal is final`() {
        var policy = TransactionRetry(awayMax: .seconds(10))
        #expect(policy.next(after: .refused(.closed), at: 0, chance: 0) == .giveUp)
    }

    @Test(
        arguments: [
            ("40001", "conflict"), ("40P01", "conflict"), ("25006", "away"), ("57P01", "away"), ("08006", "away"),
            ("57P03", "away"), ("53100", "refused"), ("42501", "refused"), ("XX001", "refused"),
        ])
    func `the server's errors are told apart`(state: String, kind: String) {
        let failure = PostgresFailure(state: state, details: [:])
        switch failure {
        case .conflict: #expect(kind == "conflict")
        case .away: #expect(kind == "away")
        case .refused: #expect(kind == "refused")
        }
        #expect(failure.error.details["sqlstate"] == state)
    }

    @Test(
        arguments: [
            ("53100", .diskFull), ("25006", .readOnly), ("XX002", .corrupt), ("42P01", .notAStore),
            ("28P01", .unavailable), ("53300", .busy), ("12345", .unavailable),
        ] as [(String, StoreError.Code)])
    func `an error has the code that callers act on`(state: String, code: StoreError.Code) {
        #expect(StoreError(sqlState: state, details: [:]).code == code)
    }
}
