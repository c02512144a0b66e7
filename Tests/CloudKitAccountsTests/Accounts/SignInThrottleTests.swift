import CloudKitAccounts
import Testing

@Suite(.timeLimit(.minutes(20))) struct SignInThrottleTests {
    var throttle = SignInThrottle()

    @Test mutating func `five failures of one address at one account close it for a while`() {
        for second in 0..<5 {
            #expect(throttle.wait(email: "a", address: "1", now: Int64(second) * 1000) == nil)
            throttle.failed(email: "a", address: "1", now: Int64(second) * 1000)
        }
        #expect(throttle.wait(email: "a", address: "1", now: 5000) == 895)
        #expect(throttle.wait(email: "a", address: "2", now: 5000) == nil)
        #expect(throttle.wait(email: "b", address: "1", now: 5000) == nil)
        #expect(throttle.wait(email: "a", address: "1", now: 900_000) == nil)
    }

    @Test mutating func `one address cannot try its luck at many accounts`() {
        for number in 0..<50 { throttle.failed(email: "\(number)", address: "1", now: 0) }
        #expect(throttle.wait(email: "new", address: "1", now: 1) != nil)
        #expect(throttle.wait(email: "new", address: "2", now: 1) == nil)
    }

    @Test mutating func `an attempt under way counts like a failure until its outcome is known`() {
        for _ in 0..<5 { #expect(throttle.begin(email: "a", address: "1", now: 0) == nil) }
        #expect(throttle.begin(email: "a", address: "1", now: 0) == 1)
        #expect(throttle.begin(email: "a", address: "2", now: 0) == nil)
        throttle.abandoned(email: "a", address: "1")
        #expect(throttle.begin(email: "a", address: "1", now: 0) == nil)
        for _ in 0..<5 { throttle.failed(email: "a", address: "1", now: 0) }
        #expect(throttle.begin(email: "a", address: "1", now: 1000) == 899)
    }

    @Test mutating func `a clock that was set back delays an attempt by no more than the window`() {
        for _ in 0..<5 { throttle.failed(email: "a", address: "1", now: 10_000_000_000) }
        #expect(throttle.wait(email: "a", address: "1", now: 0) == 900)
        #expect(throttle.wait(email: "a", address: "1", now: 900_000) == nil)
    }

    @Test mutating func `a successful sign-in resets the count`() {
        for _ in 0..<4 { throttle.failed(email: "a", address: "1", now: 0) }
        throttle.succeeded(email: "a", address: "1")
        throttle.failed(email: "a", address: "1", now: 0)
        #expect(throttle.wait(email: "a", address: "1", now: 1) == nil)
    }
}
