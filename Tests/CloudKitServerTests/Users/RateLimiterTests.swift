import CloudKitModel
import Testing

@testable import CloudKitServer

@Suite(.timeLimit(.minutes(20))) struct RateLimiterTests {
    @Test func `B-THR-06 an allowance is used up by requests and comes back over time`() {
        var limiter = RateLimiter(burst: 3, perSecond: 0.5)
        for _ in 0..<3 { #expect(limiter.take(by: "a", at: 0) == nil) }
        #expect(limiter.take(by: "a", at: 0) == 2)
        #expect(limiter.take(by: "a", at: 1_000) == 1)
        #expect(limiter.take(by: "b", at: 1_000) == nil)
        #expect(limiter.take(by: "a", at: 2_000) == nil)
        #expect(limiter.take(by: "a", at: 2_000) == 2)
        // Refused requests cost nothing, and a clock that goes back gives nothing.
        #expect(limiter.take(by: "a", at: 1_000) == 2)
        #expect(limiter.take(2, by: "a", at: 6_000) == nil)
        #expect(limiter.take(100, by: "a", at: 60_000) == nil)
        #expect(limiter.take(by: "a", at: 60_000) == 2)
    }

    @Test func `B-THR-06 nodes that count for themselves give together what one would`() {
        var nodes = (0..<3).map { _ in RateLimiter(burst: 6, perSecond: 0.5) }
        var admitted = 0
        for second in 0..<600 {
            for node in 0..<3 where nodes[node].take(by: "a", at: Int64(second) * 1_000, among: 3) == nil {
                admitted += 1
            }
        }
        #expect((300...306).contains(admitted))
        // A large request is admitted where its part would never be enough, and paid for later.
        var node = RateLimiter(burst: 6, perSecond: 0.5)
        #expect(node.take(6, by: "a", at: 0, among: 3) == nil)
        #expect(node.take(6, by: "a", at: 0, among: 3) == 36)
    }

    @Test func `B-THR-06 senders whose allowance is full again are forgotten`() {
        var limiter = RateLimiter(burst: 1, perSecond: 1)
        for number in 0..<5_000 { #expect(limiter.take(by: "\(number)", at: Int64(number) * 1_000) == nil) }
        #expect(limiter.senderCount <= 1_024)
    }

    @Test func `B-THR-06 a user's limit leaves the container's allowance to others`() {
        var limits = Limits()
        limits.userRequestsPerSecond = 0.1
        limits.containerRequestsPerSecond = 0.3
        let rates = RequestRates(limits: limits) { 0 }
        func refusal(_ user: UserID?, _ environment: Environment = .production) -> RequestFailure? {
            do throws(RequestFailure) {
                try rates.count(user, in: TestCloud.container, environment)
                return nil
            } catch {
                return error
            }
        }
        #expect(refusal(TestCloud.ada) == nil)
        let second = refusal(TestCloud.ada)
        #expect(second?.code == .throttled && second?.retryAfter == 10)
        #expect(second?.reason == "request rate limited for the user")
        #expect(refusal(TestCloud.bob) == nil)
        #expect(refusal(nil) == nil)
        #expect(refusal(nil)?.reason == "request rate limited for the container")
        #expect(refusal(TestCloud.ada, .development) == nil)
    }
}
