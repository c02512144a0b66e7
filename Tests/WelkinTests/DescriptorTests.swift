import CloudUnderTest
import Foundation
import Testing

/// A cloud with few descriptors, and strangers who keep every connection that they get.
@Suite(.timeLimit(.minutes(20))) struct DescriptorTests {
    private static let container = "iCloud.com.example.descriptors"

    /// Sends one request on a connection of its own.
    private func ask(_ cloud: CloudProcess, _ request: RawRequest) throws -> RawResponse {
        try RawExchange(port: cloud.port, connections: 1).ask(request, timeout: 60)
    }

    /// Saves and fetches a record, and uploads a file.
    private func useCloud(_ cloud: CloudProcess, _ user: SignedInUser, name: String) throws {
        let saved = try ask(
            cloud,
            user.post(
                "records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordName":"\#(name)","recordType":"Note","#
                    + #""fields":{"title":{"value":"Milk"}}}}]}"#))
        #expect(saved.status == 200, "\(saved.text)")
        let fetched = try ask(cloud, user.post("records/lookup", #"{"records":[{"recordName":"\#(name)"}]}"#))
        #expect(fetched.text.contains("Milk"), "\(fetched.text)")
        let tokens = try ask(
            cloud, user.post("assets/upload", #"{"tokens":[{"recordType":"Note","fieldName":"file"}]}"#))
        let answer = try JSONSerialization.jsonObject(with: Data(tokens.body)) as? [String: Any]
        let token = try #require((answer?["tokens"] as? [[String: Any]])?.first)
        let url = try #require((token["url"] as? String).flatMap { URL(string: $0) })
        let uploaded = try ask(cloud, .post(url.path, body: Array("file \(name)".utf8)))
        #expect(uploaded.status == 200, "\(uploaded.text)")
        #expect(try ask(cloud, .get("/health")).status == 200)
    }

    @Test func `strangers who hold every connection they get neither stop the cloud nor its users`() throws {
        let cloud = try CloudProcess(descriptorsMax: 160)
        defer { cloud.end() }
        let user = try cloud.signIn(container: Self.container, profile: "ada")
        try useCloud(cloud, user, name: "before")
        var held: [RawExchange] = []
        for round in 0..<4 {
            let strangers = try RawExchange(port: cloud.port, connections: 120)
            for connection in 0..<strangers.connectionCount {
                // Nothing, the beginning of a head, a head without its body.
                switch connection % 3 {
                case 0: continue
                case 1: strangers.send(RawRequest(bytes: Array("POST /x HTTP/1.1\r\nHost: a".utf8)), on: connection)
                default:
                    let head = "POST \(user.path("records/modify")) HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n"
                    strangers.send(
                        RawRequest(bytes: Array(head.replacing("ckAPIToken", with: "x").utf8)), on: connection)
                }
            }
            held.append(strangers)
            try useCloud(cloud, user, name: "during\(round)")
            #expect(cloud.isRunning)
        }
        let metrics = try ask(cloud, .get("/metrics")).text
        #expect(metrics.contains("\nwelkin_connections_refused_total{reason=\"yielded\"} "))
        #expect(held.count == 4)
    }

    @Test func `unfinished bodies of strangers take next to no memory`() throws {
        let cloud = try CloudProcess()
        defer { cloud.end() }
        let user = try cloud.signIn(container: Self.container, profile: "ada")
        try useCloud(cloud, user, name: "before")
        let before = cloud.residentBytes
        let strangers = try RawExchange(port: cloud.port, connections: 400)
        let part = [UInt8](repeating: 32, count: 1_000_000)
        for connection in 0..<strangers.connectionCount {
            // A save without credentials, and a sign-in with a body that is small but does not end.
            let isSignIn = connection % 4 == 0
            let target =
                isSignIn
                ? user.devicePath("sessions/create")
                : "/database/1/\(Self.container)/development/private/records/modify"
            let head = "POST \(target) HTTP/1.1\r\nHost: a\r\nContent-Length: \(isSignIn ? 65_536 : 3_000_000)\r\n\r\n"
            strangers.send(
                RawRequest(bytes: Array(head.utf8) + part.prefix(isSignIn ? 65_000 : 1_000_000)), on: connection)
        }
        // Those without credentials are answered at once; the sign-ins wait for the end of their bodies.
        for _ in 0..<300 { #expect(strangers.next(until: .now.advanced(bySeconds: 60)) != nil) }
        let metrics = try ask(cloud, .get("/metrics")).text
        let held = try #require(metrics.firstMatch(of: /\nwelkin_body_bytes_held (\d+)\n/).flatMap { Int($0.output.1) })
        #expect(held <= 16 * 1024 * 1024)
        #expect(cloud.residentBytes - before < 150_000_000)
        print("400 unfinished bodies: \(held) bytes held, \(cloud.residentBytes - before) bytes more resident")
        try useCloud(cloud, user, name: "during")
    }
}
