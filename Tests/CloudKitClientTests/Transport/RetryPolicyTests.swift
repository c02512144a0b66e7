import CloudKitModel
import Testing

@testable import CloudKitClient

@Suite(.timeLimit(.minutes(20))) struct RetryPolicyTests {
    private let busy = CallFailure.refused(RequestFailure(.zoneBusy, "busy"))

    @Test func `B-OPS-04 user-initiated work fails fast`() {
        #expect(RetryPolicy.failFast.delay(after: busy, attempt: 1, isRepeatable: true, random: 0) == nil)
    }

    @Test func `B-THR-04 discretionary work backs off exponentially with jitter`() {
        let delays = (1...3).map {
            RetryPolicy.discretionary.delay(after: busy, attempt: $0, isRepeatable: true, random: 0.5)
        }
        #expect(delays == [.milliseconds(500), .milliseconds(1000), .milliseconds(2000)])
        #expect(
            RetryPolicy.discretionary.delay(after: busy, attempt: 1, isRepeatable: true, random: 0)
                == .milliseconds(250))
    }

    @Test func `Retries are bounded`() {
        #expect(RetryPolicy.discretionary.delay(after: busy, attempt: 4, isRepeatable: true, random: 0) == nil)
    }

    @Test func `B-THR-02 the retry-after of the server is honoured, within reason`() {
        func delay(_ seconds: Double) -> Duration? {
            RetryPolicy.discretionary.delay(
                after: .refused(RequestFailure(.throttled, "slow down", retryAfter: seconds)), attempt: 1,
                isRepeatable: false, random: 0)
        }
        #expect(delay(30) == .seconds(30))
        #expect(delay(300) == nil)
    }

    @Test func `B-OPS-04 discretionary work waits for a network that is not there`() {
        let lost = CallFailure.transport(.unreachable)
        #expect(
            RetryPolicy.discretionary.delay(after: lost, attempt: 1, isRepeatable: false, random: 0.5)
                == .milliseconds(500))
        #expect(RetryPolicy.failFast.delay(after: lost, attempt: 1, isRepeatable: true, random: 0.5) == nil)
    }

    @Test(arguments: [RetryPolicy.failFast, .discretionary, .brokenTransfer])
    func `B-OPS-04 work waits for a cloud that has answered before and starts again, each time anew`(
        policy: RetryPolicy
    ) {
        let closed = CallFailure.transport(.refused)
        func delay(_ count: Int, lasting: Double, sinceAnswer: Double = 60, elapsed: Double) -> Duration? {
            policy.delay(
                after: closed, attempt: 9, isRepeatable: false, elapsed: .seconds(elapsed),
                streak: RetryPolicy.Streak(count: count, lasting: .seconds(lasting)),
                sinceAnswer: .seconds(sinceAnswer),
                random: 0.5)
        }
        let patience = policy.restartPatience / .seconds(1)
        #expect(delay(1, lasting: 0, elapsed: 0) == policy.firstDelay)
        #expect(delay(6, lasting: patience - 1, elapsed: 20) == .seconds(1))
        #expect(delay(6, lasting: patience, elapsed: 20) == nil)
        // It was there for another request in between.
        #expect(delay(6, lasting: 30, sinceAnswer: patience - 1, elapsed: 30) == .seconds(1))
        // What came before this restart does not count, but a minute in all is enough.
        #expect(delay(6, lasting: 8, elapsed: 59) == .seconds(1))
        #expect(delay(6, lasting: 8, elapsed: 60) == nil)
        #expect(policy.delay(after: closed, attempt: 9, isRepeatable: true, elapsed: .zero, random: 0.5) == nil)
    }

    @Test(
        arguments: [
            (nil, [:], nil), (30, [:], 30), (nil, ["retry-after": "12"], 12), (5, ["retry-after": "12"], 5),
            (.infinity, [:], 86_400), (.nan, [:], nil), (-3, [:], 0), (nil, ["retry-after": "1e400"], 86_400),
            (nil, ["retry-after": "nan"], nil), (nil, ["retry-after": "soon"], nil),
            (
                nil,
                ["retry-after": "Sat, 21 Nov 2026 10:01:30 GMT", "date": "Sat, 21 Nov 2026 10:00:00 GMT"], 90
            ),
            (nil, ["retry-after": "Sat, 21 Nov 2026 10:01:30 GMT"], nil),
        ] as [(Double?, [String: String], Double?)])
    func `B-THR-02 every value of a requested pause is read as a time within bounds`(
        body: Double?, headers: [String: String], wait: Double?
    ) {
        #expect(RetryAfter.seconds(body: body, headers: headers) == wait)
    }

    @Test func `B-THR-07 a tag-checked save whose response was lost is left to the app`() {
        let lost = CallFailure.transport(.connectionLost)
        #expect(RetryPolicy.discretionary.delay(after: lost, attempt: 1, isRepeatable: false, random: 0) == nil)
        #expect(RetryPolicy.discretionary.delay(after: lost, attempt: 1, isRepeatable: true, random: 0) != nil)
    }

    @Test func `B-THR-07 a cloud that is away for a while is asked again for a minute`() {
        let away = CallFailure.refused(RequestFailure(.serverUnavailable, "away", retryAfter: 3))
        for policy in [RetryPolicy.failFast, .discretionary, .brokenTransfer] {
            func delay(_ attempt: Int, _ elapsed: Double, repeatable: Bool = true) -> Duration? {
                policy.delay(
                    after: away, attempt: attempt, isRepeatable: repeatable, elapsed: .seconds(elapsed), random: 0.5)
            }
            #expect(delay(1, 0) == .seconds(3))
            #expect(delay(12, 50) == .seconds(5))
            #expect(delay(12, 56) == nil)
            #expect(delay(4, 0, repeatable: false) == nil)
        }
    }

    @Test func `B-THR-07 a request of a user who waits is asked for again when its answer is lost`() {
        let lost = CallFailure.transport(.answerLost)
        let delays = (1...8).map {
            RetryPolicy.failFast.delay(after: lost, attempt: $0, isRepeatable: true, random: 0.5)
        }
        #expect(
            delays == [
                .milliseconds(250), .milliseconds(500), .seconds(1), .seconds(2), .seconds(4), .seconds(5), .seconds(5),
                nil,
            ])
        #expect(
            RetryPolicy.failFast.delay(after: .transport(.timedOut), attempt: 1, isRepeatable: true, random: 0.5) == nil
        )
    }

    @Test(
        arguments: [
            CallFailure.refused(RequestFailure(.conflict, "")), .refused(RequestFailure(.badRequest, "")), .notSignedIn,
            .cancelled, .misconfigured(""), .transport(.notTrusted), .answerMalformed(status: 200),
        ])
    func `B-ERR-22 failures that a retry cannot help are not retried`(failure: CallFailure) {
        #expect(RetryPolicy.discretionary.delay(after: failure, attempt: 1, isRepeatable: true, random: 0) == nil)
    }

    @Test func `B-THR-03 the gate stays closed until the time is over and never opens earlier`() {
        let gate = RetryGate()
        #expect(gate.remaining(at: .zero) == nil)
        gate.close(for: .seconds(10), at: .seconds(1))
        gate.close(for: .seconds(2), at: .seconds(1))
        #expect(gate.remaining(at: .seconds(5)) == .seconds(6))
        #expect(gate.remaining(at: .seconds(11)) == nil)
    }
}
