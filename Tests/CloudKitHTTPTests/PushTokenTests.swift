import CloudKitAccounts
import CloudKitHTTP
import CloudKitModel
import CloudKitServer
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(20))) struct PushTokenTests {
    /// Takes addresses like `{"to": "a"}` and all messages.
    private final class Service: PushService {
        let name = "test"
        let announcement = ["key": "public"]
        private let sent = Mutex<[String]>([])

        func address(_ subscription: [UInt8]) throws(RequestFailure) -> PushAddress {
            let text = String(decoding: subscription, as: UTF8.self)
            guard text.contains("\"to\"") else { throw RequestFailure(.badRequest, "no address") }
            return PushAddress(bytes: subscription, identity: text)
        }

        func send(_ message: PushMessage, to address: PushAddress) async -> PushOutcome {
            sent.withLock { $0.append(String(decoding: address.bytes, as: UTF8.self)) }
            return .delivered
        }

        var addresses: [String] { sent.withLock { $0 } }
    }

    private static func target(_ action: String, _ tokens: TestCloud.Tokens) -> String {
        "/device/1/\(TestCloud.container)/development/tokens/\(action)\(tokens.query)"
    }

    private static func body(_ push: String, token: String? = nil) -> String {
        let token = token.map { #""apnsToken":"\#($0)","# } ?? ""
        return #"{\#(token)"clientId":"c","push":\#(push)}"#
    }

    private static let good = #"{"service":"test","subscription":{"to":"a"}}"#

    /// Waits until another task has done its work; the time limit of the suite ends it.
    private static func until(_ isDone: () async throws -> Bool) async throws {
        while try await !isDone() { try await Task.sleep(for: .milliseconds(2)) }
    }

    @Test func `an enabled destination is listed, and no other is accepted`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let list = try await cloud.client.post(Self.target("services", tokens), "{}")
            #expect(list.status == 200 && list.body == #"{"services":[]}"#)
            let refused = try await cloud.client.post(Self.target("create", tokens), Self.body(Self.good))
            #expect(refused.status == 400)
        }
        try await TestCloud.run(pushServices: [Service()]) { cloud in
            let tokens = try await cloud.apiToken()
            let list = try await cloud.client.get(Self.target("services", tokens))
            #expect(list.body == #"{"services":[{"key":"public","service":"test"}]}"#)
            #expect(try await cloud.client.get(Self.target("services", .init(api: "x"))).status == 401)
            let user = try await cloud.signIn()
            for push in [
                #"{"service":"other","subscription":{"to":"a"}}"#, #"{"service":"test"}"#, #"{"subscription":{}}"#,
                #"{"service":"test","subscription":{}}"#, #""test""#, "[]",
                #"{"service":"test","subscription":{"to":"\#(String(repeating: "a", count: 5000))"}}"#,
                #"{"service":"test","subscription":{"to":[[[[[[[[[[]]]]]]]]]]}}"#,
            ] {
                let answer = try await cloud.client.post(Self.target("create", user), Self.body(push))
                #expect(answer.status == 400, "\(push)")
            }
            let long = #"{"clientId":"\#(String(repeating: "a", count: 20_000))"}"#
            #expect(try await cloud.client.post(Self.target("create", user), long).status == 400)
        }
    }

    @Test func `a device is rung at until its token is deleted`() async throws {
        let service = Service()
        try await TestCloud.run(pushServices: [service]) { cloud in
            let saver = try await cloud.signIn()
            let tokens = try await cloud.signIn()
            let made = try await cloud.client.post(Self.target("create", tokens), Self.body(Self.good))
            #expect(made.status == 200 && made["webcourierURL"] == nil)
            let token = try #require(made["apnsToken"] as? String)
            let moved = try await cloud.client.post(
                Self.target("register", tokens),
                Self.body(#"{"service":"test","subscription":{"to":"b"}}"#, token: token))
            #expect(moved.status == 200 && moved["apnsToken"] as? String == token && moved["webcourierURL"] == nil)
            try await cloud.subscribe(alert: "Secret", by: saver)
            try await cloud.save("R1", by: saver)
            try await Self.until { !service.addresses.isEmpty }
            #expect(service.addresses == [#"{"to":"b"}"#])
            let pushed = cloud.log.lines.filter { $0.metadata["service"] == "test" }
            #expect(pushed.allSatisfy { !$0.metadata.values.contains { $0.contains("Secret") || $0.contains("to") } })
            let metrics = try await cloud.client.get("/metrics")
            #expect(metrics.body.contains("welkin_push_postponed_total"))
            #expect(try await cloud.client.post(Self.target("delete", tokens), "{}").status == 400)
            let deleted = try await cloud.client.post(Self.target("delete", tokens), #"{"apnsToken":"\#(token)"}"#)
            #expect(deleted.status == 200 && deleted.body == "{}")
            // No device waits any more, so nothing is queued.
            try await cloud.save("R2", by: saver)
            let dropped = try await cloud.client.get("/metrics").body
            #expect(dropped.contains(#"welkin_notifications_dropped_total{reason="noOtherDevice"} 1"#))
        }
    }

    @Test func `a browser is rung at long after its page was closed, until it is signed out`() async throws {
        let service = Service()
        try await TestCloud.run(pushServices: [service]) { cloud in
            let saver = try await cloud.signIn()
            let tokens = try await cloud.signIn(lifetime: "session")
            _ = try await cloud.client.post(Self.target("create", tokens), Self.body(Self.good))
            try await cloud.subscribe(alert: "Secret", by: saver)
            cloud.clock.advance(80 * 86_400_000)
            // The page itself has to sign in again.
            #expect(try await cloud.client.post(Self.target("create", tokens), Self.body(Self.good)).status == 421)
            let fresh = try await cloud.signIn()
            try await cloud.save("R1", by: fresh)
            try await Self.until { !service.addresses.isEmpty }
            let account = try await cloud.accountStore.accounts
                .account(email: "ada@example.com")
            let sessions = cloud.accountStore.sessions
            let browsers = try await sessions.sessions(ofAccount: try #require(account).id).filter(\.isBrowser)
            let browser = try #require(browsers.first)
            #expect(browsers.count == 1)
            try await sessions.end(browser.id)
            try await cloud.save("R2", by: fresh)
            try await Self.until {
                // After a message the partition rests, by this clock.
                cloud.clock.advance(2_000)
                return try await cloud.client.get("/metrics").body
                    .contains(#"welkin_push_addresses_removed_total{service="test"} 1"#)
            }
            #expect(service.addresses.count == 1)
        }
    }

    @Test func `the page for notifications knows its app, and its worker shows nothing of others`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.apiToken()
            let query = "?container=\(TestCloud.container)&environment=development&ckAPIToken="
            let page = try await cloud.client.get("/notifications" + query + tokens.api)
            #expect(page.status == 200 && page.body.contains(TestCloud.container) && page.body.contains("<noscript>"))
            #expect(page.headers["content-security-policy"]?.contains("default-src 'none'") == true)
            #expect(try await cloud.client.get("/notifications" + query + "x").status == 400)
            for script in ["/notifications.js", "/notifications-worker.js"] {
                let answer = try await cloud.client.get(script)
                #expect(answer.status == 200 && answer.headers["content-type"]?.hasPrefix("text/javascript") == true)
                #expect(answer.body.hasPrefix("\"use strict\";"))
            }
        }
    }
}
