#if TLS
    import FaultyNetwork
    import Foundation
    import HTTPTransfer
    import Testing

    @Suite struct TrustTests {
        @Test func `A server with a certificate of a trusted authority is spoken to`() async throws {
            #expect(try await Self.meet(Certificates.here, trusting: Certificates.authority) == nil)
        }

        @Test func `A server that cannot prove its identity receives nothing`() async throws {
            let strangers = [
                (Certificates.itself, nil), (Certificates.here, nil), (Certificates.itself, Certificates.authority),
                (Certificates.elsewhere, Certificates.authority), (Certificates.expired, Certificates.authority),
            ]
            for (stranger, authority) in strangers {
                #expect(try await Self.meet(stranger, trusting: authority) == .notTrusted)
            }
        }

        @Test func `A server that does not speak TLS, or hangs up during the handshake, is unreachable`() async throws {
            for answer in ["", "HTTP/1.1 400 Bad\r\n\r\n"] {
                let kind = try await RawServer.run { stream, _ in
                    try await stream.discard(1)
                    if !answer.isEmpty { try await stream.send(answer) }
                } body: {
                    try await Self.kind(HTTPClient.shared, $0)
                }
                #expect(kind == .unreachable)
            }
        }

        /// Writing to a closed connection by way of TLS raises SIGPIPE, which ends a process that does not expect it.
        @Test func `A server that hangs up during a large upload does not end the process`() async throws {
            try await Self.with(Certificates.authority) { client in
                for _ in 0..<5 {
                    let kind = try await RawServer.run(identity: Certificates.here) { stream, _ in
                        try await stream.discard(100_000)
                        try await stream.reset()
                    } body: {
                        try await Self.kind(client, $0, body: [UInt8](repeating: 1, count: 16 << 20))
                    }
                    #expect(kind == .connectionLost)
                }
            }
        }

        private static func meet(
            _ identity: RawServer.Identity, trusting authority: String?
        ) async throws -> HTTPClient.Failure.Kind? {
            try await with(authority) { client in
                try await RawServer.run(identity: identity) { stream, _ in
                    guard try await stream.request() != nil else { return }
                    // Both sides say goodbye at once.
                    try await stream.answer(headers: "Connection: close\r\n")
                } body: {
                    try await kind(client, $0)
                }
            }
        }

        private static func kind(
            _ client: HTTPClient, _ server: RawServer, body: [UInt8] = [1]
        ) async throws -> HTTPClient.Failure.Kind? {
            do {
                let url = server.url(scheme: "https")
                #expect(try await client.send(.init(method: "POST", url: url, body: body)).status == 200)
                return nil
            } catch let failure as HTTPClient.Failure {
                return failure.kind
            }
        }

        private static func with<Value>(
            _ authority: String?, _ body: (HTTPClient) async throws -> Value
        ) async throws -> Value {
            guard let authority else { return try await body(HTTPClient.shared) }
            let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString + ".pem")
            try Data(authority.utf8).write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            return try await body(HTTPClient(authoritiesFile: file.path()))
        }
    }
#endif
