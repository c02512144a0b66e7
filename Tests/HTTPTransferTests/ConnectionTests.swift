import FaultyNetwork
import Synchronization
import Testing

@testable import HTTPTransfer

@Suite(.timeLimit(.minutes(20))) struct ConnectionTests {
    @Test func `A connection is used again`() async throws {
        let log = Log()
        try await RawServer.run { stream, connection in
            while let request = try await stream.request() {
                log.note(request, connection)
                try await stream.answer()
            }
        } body: { server in
            let client = HTTPClient()
            for _ in 0..<5 {
                _ = try await client.send(.init(method: "POST", url: server.url(), body: [1]))
            }
        }
        #expect(log.connections == [0, 0, 0, 0, 0])
    }

    /// The network of the system decides whether the client notices before or after it writes the request.
    @Test func `A connection that was closed meanwhile is replaced`() async throws {
        let log = Log()
        let (closed, closing) = AsyncStream.makeStream(of: Void.self)
        try await RawServer.run { stream, connection in
            guard let request = try await stream.request() else { return }
            log.note(request, connection)
            try await stream.answer()
            try await stream.close()
            closing.yield()
        } body: { server in
            let client = HTTPClient()
            for _ in 0..<3 {
                _ = try await client.send(.init(method: "POST", url: server.url(), body: [1], isRepeatable: true))
                for await _ in closed { break }
            }
        }
        #expect(log.connections == [0, 1, 2])
    }

    /// The server reads the second request of a connection, and hangs up instead of answering: it may have done its work.
    @Test(arguments: [false, true])
    func `B-THR-07 a save is never repeated automatically, a read is`(isRepeatable: Bool) async throws {
        let log = Log()
        let kind = try await RawServer.run { stream, connection in
            guard let first = try await stream.request() else { return }
            log.note(first, connection)
            try await stream.answer()
            guard connection == 0, let second = try await stream.request() else { return }
            log.note(second, connection)
        } body: { server -> HTTPClient.Failure.Kind? in
            let client = HTTPClient()
            let request = HTTPClient.Request(
                method: "POST", url: server.url(), body: [1], isRepeatable: isRepeatable)
            _ = try await client.send(request)
            do {
                _ = try await client.send(request)
                return nil
            } catch let failure as HTTPClient.Failure {
                return failure.kind
            }
        }
        #expect(kind == (isRepeatable ? nil : .answerLost))
        #expect(log.connections == (isRepeatable ? [0, 0, 1] : [0, 0]))
    }

    @Test func `A cancelled task ends at once, and with it its connection`() async throws {
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        try await RawServer.run { stream, _ in
            _ = try await stream.request()
            arrival.yield()
            try await stream.waitForEnd()
            end.yield()
        } body: { server in
            let task = Task {
                try await HTTPClient.shared.send(.init(method: "GET", url: server.url(), isLongPoll: true))
            }
            for await _ in arrivals { break }
            task.cancel()
            await #expect(throws: CancellationError.self) { _ = try await task.value }
            for await _ in ends { break }
        }
    }

    @Test func `A task that was cancelled before sends nothing`() async throws {
        let log = Log()
        try await RawServer.run { stream, connection in
            if let request = try await stream.request() { log.note(request, connection) }
        } body: { server in
            for _ in 0..<20 {
                let task = Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    return try await HTTPClient.shared.send(.init(method: "GET", url: server.url()))
                }
                await #expect(throws: CancellationError.self) { _ = try await task.value }
            }
        }
        #expect(log.requests.isEmpty)
    }

    @Test(arguments: [nil, 32])
    func `Six requests are under way at a time unless a client says more, the next waits, long polls do not count`(
        max: Int?
    ) async throws {
        let client = max.map { HTTPClient(requestsPerOriginMax: $0) } ?? .shared
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        try await RawServer.run { stream, _ in
            guard let request = try await stream.request() else { return }
            guard request.firstLine.hasPrefix("GET /hold") else { return try await stream.answer() }
            arrival.yield()
            try await stream.waitForEnd()
        } body: { server in
            let send = { @Sendable (path: String, isLongPoll: Bool) in
                Task {
                    try await client.send(.init(method: "GET", url: server.url(path), isLongPoll: isLongPoll))
                }
            }
            let held = (0..<(max ?? 6)).map { _ in send("/hold", false) } + (0..<10).map { _ in send("/hold", true) }
            var count = 0
            for await _ in arrivals {
                count += 1
                if count == held.count { break }
            }
            let seventh = send("/seventh", false)
            let eighth = send("/eighth", false)
            let question = try await send("/question", true).value
            #expect(question.status == 200)
            seventh.cancel()
            await #expect(throws: CancellationError.self) { _ = try await seventh.value }
            held[0].cancel()
            let next = try await eighth.value
            #expect(next.status == 200)
            for task in held { task.cancel() }
        }
    }

    @Test func `A client without users ends its thread`() async throws {
        try await RawServer.run { stream, _ in
            _ = try await stream.request()
            try await stream.answer()
            // Ends when the client closes its connections, which it does as it goes.
            try await stream.waitForEnd()
        } body: { server in
            for _ in 0..<20 { _ = try await HTTPClient().send(.init(method: "GET", url: server.url())) }
        }
    }

    @Test func `This machines own addresses have no proxy`() {
        let local = ["http://127.0.0.1:80/a", "http://localhost", "http://localhost/x", "https://[::1]:8443/"]
        let away = [
            "https://localhost.example/", "https://127.0.0.1.example.com:80/", "https://example.com/?http://localhost/",
        ]
        #expect(local.allSatisfy { HTTPClient.Request(method: "GET", url: $0).isLocal })
        #expect(away.allSatisfy { !HTTPClient.Request(method: "GET", url: $0).isLocal })
    }

    @Test func `An origin is scheme, host and port`() {
        #expect(HTTPClient.Request(method: "GET", url: "https://a.example:1/b/c?d").origin == "https://a.example:1")
        #expect(HTTPClient.Request(method: "GET", url: "https://a.example?d/e").origin == "https://a.example")
    }
}
