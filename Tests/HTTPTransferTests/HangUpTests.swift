import FaultyNetwork
import HTTPTransfer
import Testing

/// Closes the connection at each position of a response. Every request has to fail with an error that names the reason.
@Suite(.timeLimit(.minutes(20))) struct HangUpTests {
    static let cuts: [String] = [
        "", "H", "HTTP/1.1 2", "HTTP/1.1 200 OK", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n123",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n", "HTTP/1.1 100 Continue\r\n\r\n",
    ]

    @Test(arguments: cuts, ["GET", "POST"])
    func `B-THR-07 a server that hangs up within its answer leaves the outcome unknown`(
        answer: String, method: String
    ) async throws {
        let result = try await exchange(method, body: method == "POST" ? [1, 2, 3] : []) { stream, _ in
            _ = try await stream.request()
            try await stream.send(answer)
        }
        #expect(result.kind == .answerLost)
    }

    @Test(arguments: cuts)
    func `B-THR-07 so does one that breaks off`(answer: String) async throws {
        let result = try await exchange("POST", body: [1, 2, 3]) { stream, _ in
            _ = try await stream.request()
            if !answer.isEmpty { try await stream.send(answer) }
            try await stream.reset()
        }
        #expect(result.kind == .answerLost)
    }

    @Test func `A server that hangs up without reading is a failure`() async throws {
        let result = try await exchange("POST", body: [1, 2, 3]) { stream, _ in try await stream.reset() }
        #expect([.unreachable, .connectionLost, .answerLost].contains(result.kind))
    }

    @Test func `A server that hangs up while a large request is written has not got it all`() async throws {
        let result = try await exchange("PATCH", body: [UInt8](repeating: 7, count: 16 << 20)) { stream, _ in
            try await stream.discard(100_000)
            try await stream.reset()
        }
        #expect(result.kind == .connectionLost)
    }

    @Test(arguments: [
        "hello\r\n\r\n", "\u{0}\u{1}\u{2}", "HTTP/1.1 abc OK\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n", "\r\n\r\n",
    ])
    func `An answer that is not HTTP is a failure`(garbage: String) async throws {
        let result = try await exchange { stream, _ in
            _ = try await stream.request()
            try await stream.send(garbage)
        }
        #expect(result.kind == .answerLost)
    }

    @Test func `A closed port`() async throws {
        // A port of the system's choosing could be another test's by now; this one takes an administrator to listen on.
        let failure = await #expect(throws: HTTPClient.Failure.self) {
            _ = try await HTTPClient.shared.send(.init(method: "POST", url: "http://127.0.0.1:9/", body: [1]))
        }
        #expect(failure?.kind == .unreachable && failure?.isRefused == true)
        let unknown = await #expect(throws: HTTPClient.Failure.self) {
            _ = try await HTTPClient.shared.send(.init(method: "GET", url: "http://nobody.invalid/"))
        }
        #expect(unknown?.kind == .unreachable && unknown?.isRefused == false)
    }

    @Test func `A header line without end is cut off`() async throws {
        let result = try await exchange { stream, _ in
            _ = try await stream.request()
            try await stream.send("HTTP/1.1 200 OK\r\nX-Long: ")
            while true { try await stream.send(String(repeating: "x", count: 60_000)) }
        }
        #expect([.answerTooLarge, .answerLost].contains(result.kind))
    }

    @Test(arguments: ["X-Many: 1234567890\r\n", "\r\nHTTP/1.1 100 Continue\r\n"])
    func `A header without end is cut off`(line: String) async throws {
        let result = try await exchange { stream, _ in
            _ = try await stream.request()
            try await stream.send("HTTP/1.1 100 Continue\r\n")
            while true { try await stream.send(String(repeating: line, count: 1000)) }
        }
        #expect([.answerTooLarge, .answerLost].contains(result.kind))
    }

    @Test(arguments: ["Content-Length: 5000\r\n\r\n", "Connection: close\r\n\r\n"])
    func `An answer beyond the bound is cut off`(header: String) async throws {
        let result = try await exchange(answerBytesMax: 4999) { stream, _ in
            _ = try await stream.request()
            try await stream.send("HTTP/1.1 200 OK\r\n" + header + String(repeating: "x", count: 5000))
        }
        #expect(result.kind == .answerTooLarge)
    }

    @Test(arguments: ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345"])
    func `B-OPS-04 a server that falls silent is given up`(answer: String) async throws {
        let result = try await exchange(timeLimit: .seconds(1)) { stream, _ in
            _ = try await stream.request()
            try await stream.send(answer)
            try await stream.waitForEnd()
        }
        #expect(result.kind == .timedOut)
    }

    /// 300 requests at once, each ended by the server at another byte.
    @Test func `A storm of hang-ups leaves every request with an end`() async throws {
        let answer = Array(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 20\r\n\r\n12345678901234567890".utf8)
        let kinds = try await RawServer.run { stream, connection in
            _ = try await stream.request()
            try await stream.send(Array(answer.prefix(connection % answer.count)))
            if connection % 2 == 0 { try await stream.reset() }
        } body: { server in
            try await withThrowingTaskGroup(of: HTTPClient.Failure.Kind?.self) { group in
                for number in 0..<300 {
                    group.addTask {
                        do {
                            let request = HTTPClient.Request(
                                method: number % 3 == 0 ? "GET" : "POST", url: server.url(), body: [],
                                isLongPoll: number % 5 == 0)
                            _ = try await HTTPClient.shared.send(request)
                            return nil
                        } catch let failure as HTTPClient.Failure {
                            return failure.kind
                        }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }
        #expect(kinds.count == 300)
        #expect(kinds.allSatisfy { $0 == .answerLost || $0 == .connectionLost })
    }
}
