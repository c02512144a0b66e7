import CloudKitAccounts
import Testing

struct SignInThrottleTests {
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

    @Test mutating func `a successful sign-in resets the count`() {
        for _ in 0..<4 { throttle.failed(email: "a", address: "1", now: 0) }
        throttle.succeeded(email: "a", address: "1")
        throttle.failed(email: "a", address: "1", now: 0)
        #expect(throttle.wait(email: "a", address: "1", now: 1) == nil)
    }
}
