import CloudKitHTTP
import CloudKitServer
import OrderedStore
import Testing

/// The operator's view.
@Suite(.timeLimit(.minutes(20))) struct OperationTests {
    @Test func `a request leaves one line with its operation, and no secrets`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            _ = try await cloud.client.post(
                TestCloud.target("records/lookup", "private", tokens), #"{"records":[{"recordName":"Hidden"}]}"#,
                headers: [
                    "X-Welkin-Client": "sdk/1", "X-Welkin-Operation": "OP-1", "X-Welkin-Operation-Group": "G-1",
                    "X-Welkin-Operation-Group-Name": "first%20sync%0Aforged", "X-Welkin-Group-Quantity": "7",
                    "X-Welkin-Group-Expected-Send": "100", "X-Welkin-Group-Expected-Receive": "200",
                ])
            let lines = cloud.log.lines
            let line = try #require(lines.last { $0.metadata["endpoint"] == "records/lookup" })
            #expect(line.message == "request")
            let expected = [
                "method": "POST", "status": "200", "container": TestCloud.container, "environment": "development",
                "database": "private", "client": "sdk", "itemsIn": "1", "itemsOut": "1", "itemsFailed": "1",
                "operation": "OP-1", "group": "G-1", "groupName": "first sync?forged", "groupQuantity": "7",
                "expectedSend": "100", "expectedReceive": "200",
            ]
            for (key, value) in expected { #expect(line.metadata[key] == value) }
            #expect(line.metadata["ms"] != nil)
            for (message, metadata) in lines {
                let text = message + metadata.description
                for secret in [tokens.api, tokens.web ?? "", TestCloud.proofText, "Hidden", "ada@example.com"] {
                    #expect(!text.contains(secret))
                }
            }
        }
    }

    @Test func `a cloud that drains tells proxies, answers what comes, and closes connections`() async throws {
        try await TestCloud.run { cloud in
            #expect(try await cloud.client.get("/health").status == 200)
            cloud.application.drain()
            let health = try await cloud.client.get("/health")
            #expect(health.status == 503 && health["status"] as? String == "stopping")
            #expect(health.headers["connection"] == "close")
            let tokens = try await cloud.signIn()
            let answer = try await cloud.client.post(
                TestCloud.target("records/lookup", "private", tokens), #"{"records":[{"recordName":"R"}]}"#)
            #expect(answer.status == 200 && answer.headers["connection"] == "close")
        }
    }

    @Test func `B-OPS-07 each request has an identifier of its own, and names its operation`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            var answered: [String] = []
            for _ in 0..<2 {
                let answer = try await cloud.client.get(
                    TestCloud.target("zones/list", "private", tokens), headers: ["X-Welkin-Operation": "OP-7"])
                answered.append(try #require(answer.headers["x-apple-request-uuid"]))
            }
            let lines = cloud.log.lines.map(\.metadata).filter { $0["operation"] == "OP-7" }
            #expect(lines.compactMap { $0["uuid"] } == answered)
            #expect(Set(answered).count == 2)
        }
    }

    @Test func `a cloud reports whether it can answer`() async throws {
        try await TestCloud.run { cloud in
            let answer = try await cloud.client.get("/health")
            #expect(answer.status == 200)
            #expect(answer["status"] as? String == "ok")
        }
        try await TestCloud.run(store: BrokenStore()) { cloud in
            let answer = try await cloud.client.get("/health")
            #expect(answer.status == 503)
            let failed = try await cloud.client.get(
                TestCloud.target("users/caller", "private", .init(api: String(repeating: "0", count: 64))))
            #expect(failed.status == 500)
            #expect(failed["reason"] as? String == "internal error")
            #expect(cloud.log.lines.contains { $0.message == "unexpected error" })
        }
    }

    @Test(arguments: [StoreError.Code.busy, .diskFull])
    func `a store that may recover lets clients come back`(code: StoreError.Code) async throws {
        try await TestCloud.run(store: BrokenStore(failure: StoreError(code: code, reason: "", remedy: ""))) { cloud in
            let answer = try await cloud.client.get(
                TestCloud.target("users/caller", "private", .init(api: String(repeating: "0", count: 64))))
            #expect(answer.status == 503)
            #expect(answer["serverErrorCode"] as? String == "TRY_AGAIN_LATER")
            #expect(answer.headers["retry-after"] != nil)
        }
    }

    @Test func `metrics count requests, items and connections`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            _ = try await cloud.client.post(
                TestCloud.target("records/lookup", "private", tokens), #"{"records":[{"recordName":"R"}]}"#)
            _ = try await cloud.client.get("/nowhere")
            let page = try await cloud.client.get("/metrics")
            #expect(page.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
            for line in [
                #"welkin_requests_total{endpoint="records/lookup",status="200"} 1"#,
                #"welkin_requests_total{endpoint="unknown",status="404"} 1"#,
                #"welkin_request_seconds_count{endpoint="records/lookup"} 1"#,
                #"welkin_request_seconds_bucket{endpoint="records/lookup",le="+Inf"} 1"#,
                "welkin_items_total 1", "welkin_items_failed_total 1", "# TYPE welkin_request_seconds histogram",
            ] {
                #expect(page.body.contains(line + "\n"))
            }
            let connections = try #require(page.body.firstMatch(of: /\nwelkin_connections (\d+)\n/)?.output.1)
            #expect(Int(connections) ?? 0 >= 1)
        }
    }

    /// A store whose disk is gone.
    private struct BrokenStore: OrderedStore {
        struct Failure: Error {}

        let epoch: UInt64 = 1

        func renewEpoch(from epoch: UInt64) async throws { throw StoreError.closed }
        var failure: any Error = Failure()

        func read<Value: Sendable>(
            _ partition: Partition, _ body: @Sendable (inout ReadTransaction) async throws -> Value
        ) async throws -> Value { throw failure }

        func write<Value: Sendable>(
            _ partitions: [Partition], _ body: @Sendable (inout WriteTransaction) async throws -> Value
        ) async throws -> Value { throw failure }

        func commits() -> AsyncStream<Partition> { AsyncStream { $0.finish() } }
    }
}
