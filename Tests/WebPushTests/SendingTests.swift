import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import FaultyNetwork
import HTTPTransfer
import PushReceiver
import Synchronization
import Testing

@testable import WebPush

@Suite(.timeLimit(.minutes(20))) struct SendingTests {
    /// A clock that does not advance, so that no message times out on a busy machine.
    private static let serverEnvironment = ServerEnvironment(
        secret: [UInt8](repeating: 7, count: 32), now: { 1_700_000_000_000 }, sleep: { _ in try await untilCancelled() }
    )
    private static let key = ApplicationServerKey()

    private static func webPush(
        in serverEnvironment: ServerEnvironment = serverEnvironment, _ sender: @escaping WebPush.Sender
    ) -> WebPush {
        WebPush(
            key: key, contact: "mailto:operator@example.com", rules: WebPushEndpointRules(namedHosts: ["127.0.0.1"]),
            serverEnvironment: serverEnvironment, sender: sender)
    }

    /// Waits until its task is cancelled.
    private static func untilCancelled() async throws {
        for await _ in AsyncStream<Never>.makeStream().stream {}
        try Task.checkCancellation()
    }

    /// Sends a request with a time limit of an hour.
    private static func patiently(_ request: HTTPClient.Request) async throws -> HTTPClient.Answer {
        var request = request
        request.timeLimit = .seconds(3600)
        return try await HTTPClient.shared.send(request)
    }

    private static func message(_ text: String = "{}", key: String = "k") -> PushMessage {
        PushMessage(payload: Array(text.utf8), isVisible: true, collapseKey: key, lifetime: 60)
    }

    @Test func `The token of RFC 8292 is valid, and one with another signature is not`() throws {
        let claims =
            "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM3Nj"
            + "gsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0"
        let signature = "i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA"
        let key = "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"
        let read = try Signature("vapid t=\(claims).\(signature), k=\(key)")
        #expect(read.audience == "https://push.example.net" && read.contact == "mailto:push@example.com")
        #expect(throws: (any Error).self) {
            try Signature("vapid t=\(claims).\(signature.replacing("i3", with: "i4")), k=\(key)")
        }
    }

    @Test func `A key is stored as PEM`() throws {
        let again = try ApplicationServerKey(pem: Self.key.pem)
        #expect(again.publicText == Self.key.publicText && again.publicText.count == 87)
        #expect(throws: ApplicationServerKeyError.self) { try ApplicationServerKey(pem: "secret") }
    }

    @Test func `A message is signed, encrypted and has its headers`() async throws {
        let browser = Browser()
        try await PushServer.run { server in
            let webPush = Self.webPush(Self.patiently)
            let address = try webPush.address(Array(browser.subscription(endpoint: server.origin + "/push/1").utf8))
            #expect(await webPush.send(Self.message(#"{"aps":{}}"#), to: address) == .delivered)
            let sent = try #require(server.received.first)
            #expect(sent.firstLine == "POST /push/1 HTTP/1.1")
            let opened = try browser.open(sent.body)
            #expect(opened == Array(#"{"aps":{}}"#.utf8))
            #expect(sent.header("content-encoding") == "aes128gcm")
            #expect(sent.header("ttl") == "60" && sent.header("urgency") == "high")
            let signature = try Signature(try #require(sent.header("authorization")))
            #expect(signature.key == Self.key.publicText && signature.audience == server.origin)
            #expect(signature.expires == 1_700_000_000 + 12 * 3600)
            #expect(signature.contact == "mailto:operator@example.com")
            let topic = try #require(sent.header("topic"))
            #expect(topic.utf8.count == 32)
            #expect(await webPush.send(Self.message(), to: address) == .delivered)
            #expect(await webPush.send(Self.message(key: "other"), to: address) == .delivered)
            let topics = server.received.map { $0.header("topic") }
            #expect(topics[1] == topic && topics[2] != topic)
            #expect(server.received[0].body.prefix(86) != server.received[1].body.prefix(86))
        }
    }

    @Test(arguments: [
        ("200 OK", PushOutcome.delivered), ("201 Created", .delivered), ("202 Accepted", .delivered),
        ("404 Not Found", .gone(reason: "status404")), ("410 Gone", .gone(reason: "status410")),
        ("413 Too Large", .refused(reason: "status413")),
        ("400 Bad", .tryAgain(after: 3600, reason: "status400")),
        ("403 No", .tryAgain(after: 3600, reason: "status403")),
        ("429 Busy\r\nRetry-After: 120", .tryAgain(after: 120, reason: "status429")),
        ("429 Busy", .tryAgain(after: nil, reason: "status429")),
        ("503 Busy\r\nRetry-After: Tue, 14 Nov 2023 22:14:20 GMT", .tryAgain(after: 60, reason: "status503")),
        ("503 Busy\r\nRetry-After: Tue, 14 Nov 2023 22:12:20 GMT", .tryAgain(after: 0, reason: "status503")),
        ("503 Busy\r\nRetry-After: soon", .tryAgain(after: nil, reason: "status503")),
        ("500 Oh\r\nRetry-After: -5", .tryAgain(after: nil, reason: "status500")),
        ("307 Elsewhere\r\nLocation: http://127.0.0.1:9/", .tryAgain(after: nil, reason: "status307")),
    ])
    func `Every answer has an outcome`(answer: String, outcome: PushOutcome) async throws {
        let decision: PushServer.Decision = { _ in answer }
        try await PushServer.run(answering: decision) { server in
            let webPush = Self.webPush(Self.patiently)
            let address = try webPush.address(Array(Browser().subscription(endpoint: server.origin).utf8))
            #expect(await webPush.send(Self.message(), to: address) == outcome)
            #expect(server.received.count == 1)
        }
    }

    @Test func `Without an answer the message is retried; an address whose host is no longer allowed is removed`()
        async throws
    {
        let failing = Self.webPush { _ in throw HTTPClient.Failure(.unreachable, reason: "nobody there") }
        let address = try failing.address(Array(Browser().subscription(endpoint: "http://127.0.0.1/").utf8))
        #expect(await failing.send(Self.message(), to: address) == .tryAgain(after: nil, reason: "unreachable"))
        let strict = WebPush(
            key: Self.key, contact: nil, rules: WebPushEndpointRules(), serverEnvironment: Self.serverEnvironment,
            sender: { _ in throw CancellationError() })
        #expect(await strict.send(Self.message(), to: address) == .gone(reason: "notAllowed"))
        let long = PushMessage(
            payload: [UInt8](repeating: 1, count: 4000), isVisible: false, collapseKey: "", lifetime: 0)
        #expect(await failing.send(long, to: address) == .refused(reason: "tooLong"))
    }

    @Test func `A request that never ends times out and is retried`() async throws {
        let rests = Mutex<[Duration]>([])
        var serverEnvironment = Self.serverEnvironment
        serverEnvironment.sleep = { rest in rests.withLock { $0.append(rest) } }
        let webPush = Self.webPush(in: serverEnvironment) { _ in
            try await Self.untilCancelled()
            throw CancellationError()
        }
        let address = try webPush.address(Array(Browser().subscription(endpoint: "http://127.0.0.1/").utf8))
        #expect(await webPush.send(Self.message(), to: address) == .tryAgain(after: nil, reason: "timedOut"))
        #expect(rests.withLock { $0 } == [.seconds(45)])
    }

    @Test func `Messages to clients' endpoints are sent only to the public network`() async throws {
        let requests = Mutex<[HTTPClient.Request]>([])
        let webPush = Self.webPush { request in
            requests.withLock { $0.append(request) }
            return HTTPClient.Answer(status: 201, headers: [:], body: [])
        }
        for endpoint in ["https://push.example.net/x", "http://127.0.0.1/x"] {
            let address = try webPush.address(Array(Browser().subscription(endpoint: endpoint).utf8))
            #expect(await webPush.send(Self.message(), to: address) == .delivered)
        }
        #expect(requests.withLock { $0.map(\.reach) } == [.publicOnly, .anywhere])
    }
}
