import CloudKitAccounts
import CloudKitHTTP
import CloudKitModel
import CloudKitServer
import Testing

@Suite(.timeLimit(.minutes(20))) struct CourierTests {
    private static let created = #"{"apnsEnvironment":"development","clientId":"c"}"#

    private static func tokens(_ action: String, _ tokens: TestCloud.Tokens) -> String {
        "/device/1/\(TestCloud.container)/development/tokens/\(action)\(tokens.query)"
    }

    /// The path of a device's courier.
    private static func courier(
        _ cloud: TestCloud, _ tokens: TestCloud.Tokens, client: String = "c"
    ) async throws -> String {
        let answer = try await cloud.client.post(
            Self.tokens("create", tokens), #"{"apnsEnvironment":"development","clientId":"\#(client)"}"#)
        #expect(answer.status == 200)
        let url = try #require(answer["webcourierURL"] as? String)
        let start = try #require(url.range(of: "/courier/"))
        return String(url[start.lowerBound...])
    }

    @Test func `a token needs a user and is confirmed`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let made = try await cloud.client.post(Self.tokens("create", tokens), Self.created)
            #expect(made.status == 200 && made["apnsEnvironment"] as? String == "development")
            let token = try #require(made["apnsToken"] as? String)
            let kept = try await cloud.client.post(
                Self.tokens("register", tokens), #"{"apnsEnvironment":"development","apnsToken":"\#(token)"}"#)
            #expect(kept["apnsToken"] as? String == token && kept["webcourierURL"] != nil)
            #expect(made["position"] == nil && made.headers["x-apple-cloudkit-web-auth-token"] != nil)
            let nobody = TestCloud.Tokens(api: tokens.api)
            #expect(try await cloud.client.post(Self.tokens("create", nobody), Self.created).status == 421)
            #expect(try await cloud.client.post(Self.tokens("register", tokens), "{}").status == 400)
            #expect(try await cloud.client.get(Self.tokens("create", tokens)).status == 405)
        }
    }

    @Test func `a web client gets one object an answer, and an empty one when its time is over`() async throws {
        try await TestCloud.run(CloudConfiguration(port: 0, longPollHold: .zero)) { cloud in
            let saver = try await cloud.signIn()
            let tokens = try await cloud.signIn()
            let path = try await Self.courier(cloud, tokens)
            let empty = try await cloud.client.get(path)
            #expect(empty.status == 200 && empty.body == "")
            try await cloud.subscribe(by: saver)
            try await cloud.save("R1", by: saver)
            let first = try await cloud.client.get(path, headers: ["Origin": "https://app.example.com"])
            #expect(first["ck", "fet", "sid"] as? String == "S" && first["ck", "fet", "zid"] as? String == "Z")
            #expect(first["ck", "cid"] as? String == TestCloud.container)
            #expect(first.headers["access-control-allow-origin"] == "https://app.example.com")
            #expect(try await cloud.client.get(path).body == "")
            #expect(try await cloud.client.get("/courier/AAAA").status == 404)
        }
    }

    @Test func `the framework gets all that waits and confirms it`() async throws {
        try await TestCloud.run(CloudConfiguration(port: 0, longPollHold: .zero)) { cloud in
            let native = ["X-Welkin-Client": "sdk/1"]
            let saver = try await cloud.signIn()
            let tokens = try await cloud.signIn()
            let made = try await cloud.client.post(Self.tokens("create", tokens), Self.created, headers: native)
            let position = try #require(made["position"] as? String)
            let path = try await Self.courier(cloud, tokens)
            try await cloud.subscribe(by: saver)
            try await cloud.save("R1", by: saver)
            let first = try await cloud.client.get(path + "?confirmed=" + position, headers: native)
            #expect(first["notifications", "0", "ck", "fet", "sid"] as? String == "S")
            let again = try await cloud.client.get(path + "?confirmed=" + position, headers: native)
            #expect(again["notifications", "0", "ck", "fet", "sid"] as? String == "S")
            let next = try #require(again["position"] as? String)
            let confirmed = try await cloud.client.get(path + "?confirmed=" + next, headers: native)
            #expect((confirmed["notifications"] as? [Any])?.isEmpty == true)
        }
    }

    @Test func `a poll waits until there is a notification, and the operator sees the outcome`() async throws {
        try await TestCloud.run(CloudConfiguration(port: 0, longPollHold: .seconds(60))) { cloud in
            let saver = try await cloud.signIn()
            let tokens = try await cloud.signIn()
            let path = try await Self.courier(cloud, tokens)
            try await cloud.subscribe(by: saver)
            async let answer = cloud.client.get(path)
            try await cloud.save("R1", by: saver)
            #expect(try await answer["ck", "fet", "sid"] as? String == "S")
            let metrics = try await cloud.client.get("/metrics").body
            #expect(metrics.contains("welkin_notifications_sent_total 1\n"))
            let lines = cloud.log.lines.filter { $0.message == "notifications" }
            #expect(lines.contains { $0.metadata["decided"] == "1" && $0.metadata["database"] == "private" })
            #expect(lines.contains { $0.metadata["sent"] == "1" })
            // The URL is a permission to read notifications: it is in no log.
            let secret = String(path.dropFirst("/courier/".count))
            #expect(!cloud.log.lines.contains { $0.metadata.values.contains { $0.contains(secret) } })
        }
    }

    @Test func `a device that was signed out gets nothing more`() async throws {
        try await TestCloud.run(CloudConfiguration(port: 0, longPollHold: .zero)) { cloud in
            let tokens = try await cloud.signIn()
            let path = try await Self.courier(cloud, tokens)
            #expect(try await cloud.client.get(path).status == 200)
            let accounts = cloud.accountStore.accounts
            let account = try #require(try await accounts.account(email: "ada@example.com"))
            let sessions = cloud.accountStore.sessions
            for session in try await sessions.sessions(of: account) { try await sessions.end(session.id) }
            #expect(try await cloud.client.get(path).status == 404)
        }
    }
}
