import CloudKitHTTP
import Testing

/// The order of checks: route, method and credentials come before any byte of a body is read.
@Suite(.timeLimit(.minutes(20))) struct BodyAdmissionTests {
    /// The head of a request that announces a body, without the body.
    private func head(_ target: String, announcing bytes: Int) -> [UInt8] {
        Array("POST \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: \(bytes)\r\n\r\n".utf8)
    }

    private func answer(
        _ cloud: TestCloud, _ target: String, announcing bytes: Int = 3_000_000
    ) async throws -> RawClient.Answer {
        let answers = try await cloud.client.exchange([head(target, announcing: bytes)])
        return try #require(answers.first)
    }

    @Test func `a body without credentials is answered before it arrives, and the connection closes`() async throws {
        try await TestCloud.run { cloud in
            let modify = try await answer(cloud, TestCloud.target("records/modify"))
            #expect(modify.status == 401)
            #expect(modify.headers["connection"] == "close")
            let chosen = TestCloud.Tokens(api: String(repeating: "0", count: 64))
            #expect(try await answer(cloud, TestCloud.target("records/modify", "private", chosen)).status == 401)
            #expect(try await answer(cloud, TestCloud.device("sessions/create", chosen)).status == 401)
            #expect(try await answer(cloud, "/admin/1/\(TestCloud.container)/development/faults/order").status == 404)
        }
    }

    @Test func `a path or a method that no endpoint has is answered before the body arrives`() async throws {
        try await TestCloud.run { cloud in
            let nowhere = try await answer(cloud, "/nowhere")
            #expect(nowhere.status == 404)
            let metrics = try await answer(cloud, "/metrics")
            #expect(metrics.status == 405)
            let modify = try await answer(cloud, TestCloud.target("records/modify", "none"))
            #expect(modify.status == 400)
        }
    }

    @Test func `a large body without a user is refused as a request without a user`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.apiToken()
            let refused = try await answer(cloud, TestCloud.target("records/modify", "private", tokens))
            #expect(refused.status == 421)
            #expect(refused["serverErrorCode"] as? String == "AUTHENTICATION_REQUIRED")
        }
    }

    @Test func `a request without a user has a body of at most 64 KB`() async throws {
        try await TestCloud.run { cloud in
            let target = TestCloud.target("records/query", "public", try await cloud.apiToken())
            let query = #"{"query":{"recordType":"Note"}}"#
            let short = try await cloud.client.post(target, query)
            let padding = String(repeating: " ", count: 65_536 - query.utf8.count)
            #expect(short.status != 421)
            #expect(try await cloud.client.post(target, query + padding).status == short.status)
            #expect(try await answer(cloud, target, announcing: 65_537).status == 421)
        }
    }

    @Test func `sign-in takes a small body only`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.apiToken()
            let refused = try await answer(cloud, TestCloud.device("sessions/create", tokens), announcing: 65_537)
            #expect(refused.status == 400)
            #expect(refused["reason"] as? String == "request too large")
        }
    }

    @Test func `B-LIM-02 a user's body that announces too much is refused before it arrives`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let refused = try await answer(
                cloud, TestCloud.target("records/modify", "private", tokens), announcing: 4_000_000)
            #expect(refused.status == 400)
            #expect(refused["reason"] as? String == "request too large")
        }
    }

    /// A request of which the last bytes do not come.
    private func cut(_ target: String, _ body: String, by missing: Int) -> [UInt8] {
        Array(
            ("POST \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: \(body.utf8.count + missing)\r\n\r\n" + body)
                .utf8)
    }

    @Test func `a body that arrives too slowly is cut off`() async throws {
        let rate = MinimumTransferRate(bytesMin: 100, interval: .milliseconds(50))
        let clock = SteppingClock(by: rate.interval)
        let configuration = CloudConfiguration(port: 0, minimumTransferRate: rate)
        try await TestCloud.run(configuration, connectionTime: clock.look) { cloud in
            let tokens = try await cloud.signIn()
            let target = TestCloud.target("records/modify", "private", tokens)
            clock.start()
            let slow = try await cloud.client.exchange([cut(target, "{", by: 1000)])
            #expect(slow.first?.status == 408)
            #expect(slow.first?.headers["connection"] == "close")
            #expect(slow.first?["serverErrorCode"] as? String == "TRY_AGAIN_LATER")
            let metrics = try await cloud.client.get("/metrics")
            #expect(metrics.body.contains("\nwelkin_body_bytes_held 0\n"))
        }
    }

    @Test func `bodies beyond what all may hold are refused for a while`() async throws {
        let limits = BodyLimits(heldBytesMax: 1000)
        try await TestCloud.run(CloudConfiguration(port: 0, bodies: limits)) { cloud in
            let tokens = try await cloud.signIn()
            let target = TestCloud.target("records/lookup", "private", tokens)
            let refused = try await cloud.client.post(target, String(repeating: " ", count: 1001))
            #expect(refused.status == 503)
            #expect(refused.headers["retry-after"] == "2")
            let answered = try await cloud.client.post(target, #"{"records":[]}"#)
            #expect(answered.status == 200)
            let metrics = try await cloud.client.get("/metrics")
            #expect(metrics.body.contains("\nwelkin_body_bytes_held 0\n"))
        }
    }

    @Test func `the rest of a refused body is discarded for a short time`() async throws {
        var connections = ConnectionLimits()
        connections.discardMax = .zero
        try await TestCloud.run(CloudConfiguration(port: 0, connections: connections)) { cloud in
            let next = RawClient.request("GET", "/health")
            let head = head("/nowhere", announcing: 100)
            // The second request's bytes are taken for the body; the connection closes without another answer.
            await #expect(throws: (any Error).self) {
                _ = try await cloud.client.exchange([head, Array(next.prefix(20))])
            }
        }
    }
}
