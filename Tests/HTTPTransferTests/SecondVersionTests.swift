#if TLS
    import FaultyNetwork
    import Foundation
    import HTTPTransfer
    import Synchronization
    import Testing

    /// HTTP/2 over TLS, with a server that writes its frames by hand.
    @Suite struct SecondVersionTests {
        /// Runs the body with a server that offers HTTP/2, and a client that trusts it.
        private static func run<Value: Sendable>(
            _ script: @escaping RawServer.Script,
            body: @escaping @Sendable (HTTPClient, _ url: String) async throws -> Value
        ) async throws -> Value {
            let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString + ".pem")
            try Data(Certificates.authority.utf8).write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            var identity = Certificates.here
            identity.protocols = ["h2", "http/1.1"]
            return try await RawServer.run(identity: identity, script) {
                // The client is released before the server: TLS waits for the close notification of the other side,
                // which an idle connection does not send.
                try await body(HTTPClient(authoritiesFile: file.path()), $0.url(scheme: "https"))
            }
        }

        private static func kind(
            _ client: HTTPClient, _ url: String, isRepeatable: Bool = false
        ) async throws -> HTTPClient.Failure.Kind? {
            do {
                _ = try await client.send(
                    .init(method: "POST", url: url, body: [1, 2, 3], isRepeatable: isRepeatable))
                return nil
            } catch let failure as HTTPClient.Failure {
                return failure.kind
            }
        }

        @Test func `It is spoken where the server offers it, and requests at a time share a connection`() async throws {
            let seen = Mutex<[(connection: Int, stream: UInt32, body: [UInt8])]>([])
            let large = [UInt8](repeating: 7, count: 10_000)
            try await Self.run { stream, connection in
                guard try await stream.beginSecondVersion() else { return }
                while let (id, body) = try await stream.secondVersionRequest() {
                    seen.withLock { $0.append((connection, id, body)) }
                    try await stream.send(Frame.ok(id).bytes + Frame(.data, stream: id, Array("hello ".utf8)).bytes)
                    try await stream.send(
                        Frame(.data, flags: Frame.endsStream, stream: id, Array("again".utf8)).bytes)
                }
                try await stream.reset()
            } body: { client, url in
                for _ in 0..<2 {
                    let answer = try await client.send(.init(method: "POST", url: url, body: large))
                    #expect(answer.status == 200)
                    #expect(String(decoding: answer.body, as: UTF8.self) == "hello again")
                }
                try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<4 {
                        group.addTask { try await client.send(.init(method: "POST", url: url, body: [1])).status }
                    }
                    for try await status in group { #expect(status == 200) }
                }
            }
            let requests = seen.withLock { $0 }
            #expect(requests.count == 6)
            #expect(Set(requests.map(\.connection)) == [0])
            #expect(Set(requests.map(\.stream)) == [1, 3, 5, 7, 9, 11])
            #expect(requests.first?.body == large)
        }

        @Test func `B-THR-07 an answer that is reset, cut or never comes is lost, and nothing is sent twice`()
            async throws
        {
            let internalError = Frame.bytes(2)
            let ends: [@Sendable (inout RawStream, UInt32) async throws -> Void] = [
                { stream, id in try await stream.send(Frame(.reset, stream: id, internalError).bytes) },
                { stream, id in
                    try await stream.send(Frame.ok(id).bytes + Frame(.data, stream: id, [1, 2]).bytes)
                    try await stream.send(Frame(.reset, stream: id, internalError).bytes)
                },
                { stream, id in
                    // The last request that it takes is this one; then it goes without a word about it.
                    try await stream.send(Frame(.goAway, Frame.bytes(id) + Frame.bytes(0)).bytes)
                },
                { stream, id in try await stream.send(Frame.ok(id).bytes) },
                { _, _ in },
            ]
            for end in ends {
                let count = Mutex(0)
                let kind = try await Self.run { stream, _ in
                    guard try await stream.beginSecondVersion(),
                        let (id, _) = try await stream.secondVersionRequest()
                    else { return }
                    count.withLock { $0 += 1 }
                    try await end(&stream, id)
                    // Without TLS's farewell, to which a client that keeps the connection does not answer.
                    try await stream.reset()
                } body: {
                    try await Self.kind($0, $1)
                }
                #expect(kind == .answerLost)
                #expect(count.withLock { $0 } == 1)
            }
        }

        @Test func `A connection that the server takes leave of is replaced`() async throws {
            let connections = Mutex<[Int]>([])
            try await Self.run { stream, connection in
                guard try await stream.beginSecondVersion(), let (id, _) = try await stream.secondVersionRequest()
                else {
                    return
                }
                connections.withLock { $0.append(connection) }
                try await stream.send(Frame(.goAway, Frame.bytes(id) + Frame.bytes(0)).bytes)
                try await stream.send(Frame.ok(id, ends: true).bytes)
                try await stream.waitForEnd()
            } body: { client, url in
                for _ in 0..<3 {
                    let kind = try await Self.kind(client, url, isRepeatable: true)
                    #expect(kind == nil)
                }
            }
            #expect(connections.withLock { $0 } == [0, 1, 2])
        }

        @Test func `An answer that is not HTTP/2 after all is a failure`() async throws {
            let kind = try await Self.run { stream, _ in
                try await stream.discard(1)
                try await stream.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            } body: {
                try await Self.kind($0, $1)
            }
            #expect(kind != nil)
        }
    }
#endif
