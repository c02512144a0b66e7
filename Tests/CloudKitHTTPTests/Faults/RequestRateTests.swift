import CloudKitHTTP
import CloudKitServer
import Testing

@Suite struct RequestRateTests {
    @Test func `B-THR-02, B-THR-06 requests beyond a user's rate are refused with the time to wait`() async throws {
        var limits = Limits()
        limits.userRequestsPerSecond = 0.2
        try await TestCloud.run(limits: limits) { cloud in
            let tokens = try await cloud.signIn()
            let target = TestCloud.target("zones/list", "private", tokens)
            for _ in 0..<2 { #expect(try await cloud.client.get(target).status == 200) }
            let refused = try await cloud.client.get(target)
            #expect(refused.status == 429)
            #expect(refused["serverErrorCode"] as? String == "THROTTLED")
            #expect(refused["retryAfter"] as? Double == 5)
            #expect(refused.headers["retry-after"] == "5")
        }
    }
}
