import FaultyNetwork
import HTTPTransfer
import Testing

@Suite(.timeLimit(.minutes(20))) struct ShareAccessScopeTests {
    @Test(arguments: [
        "0.0.0.0", "10.1.2.3", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.0.1", "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.19.255.255",
        "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
        "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::127.0.0.1", "2002:7f00:1::",
        "2002:c0a8:101::1", "fe80::1", "fc00::1", "fd12:3456::1", "ff02::1", "2001::1", "2001:db8::1", "3fff::1",
        "fec0::1", "100::1", "5f00::1",
    ])
    func `Addresses of machines and private networks are not public`(text: String) throws {
        let address = try #require(NetworkAddress(text))
        #expect(!address.isPublic)
    }

    @Test(arguments: [
        "1.1.1.1", "9.255.255.255", "11.0.0.1", "100.63.255.255", "100.128.0.1", "126.0.0.1", "128.0.0.1",
        "169.253.0.1",
        "172.15.0.1", "172.32.0.1", "192.0.1.1", "192.167.0.1", "198.17.0.1", "198.20.0.1", "223.255.255.255",
        "::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "2002:101:101::1", "2606:4700::1111", "2001:4860:4860::8888", "2a00::1",
    ])
    func `Others are`(text: String) throws {
        let address = try #require(NetworkAddress(text))
        #expect(address.isPublic)
    }

    @Test(arguments: ["", "localhost", "1.2.3", "1.2.3.4:80", "[::1]", "0x7f.1"])
    func `An invalid address is refused`(text: String) {
        #expect(NetworkAddress(text) == nil)
    }

    /// Runs a server on this machine that greets every client and logs its connection.
    private static func withGreetingServer(
        _ log: Log, _ body: @escaping @Sendable (RawServer) async throws -> Void
    ) async throws {
        try await RawServer.run { stream, connection in
            while let request = try await stream.request() {
                log.note(request, connection)
                try await stream.answer("hi")
            }
        } body: {
            try await body($0)
        }
    }

    /// All the ways in which a name or a number leads home.
    @Test(arguments: ["127.0.0.1", "localhost", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]", "[::1]"])
    func `A request for the public network never reaches this machine`(host: String) async throws {
        let log = Log()
        try await Self.withGreetingServer(log) { server in
            let failure = await #expect(throws: HTTPClient.Failure.self) {
                let request = HTTPClient.Request(
                    method: "POST", url: "http://\(host):\(server.port)/", body: [1], reach: .publicOnly)
                _ = try await HTTPClient.shared.send(request)
            }
            #expect(failure?.kind == .unreachable)
        }
        #expect(log.requests.isEmpty)
    }

    @Test func `Nor by a connection that another request has opened`() async throws {
        let log = Log()
        try await Self.withGreetingServer(log) { server in
            let client = HTTPClient()
            var request = HTTPClient.Request(method: "POST", url: server.url("/"), body: [1])
            let answer = try await client.send(request)
            #expect(answer.status == 200)
            request.reach = .publicOnly
            let failure = await #expect(throws: HTTPClient.Failure.self) { _ = try await client.send(request) }
            #expect(failure?.kind == .unreachable)
        }
        #expect(log.requests.count == 1)
    }
}
