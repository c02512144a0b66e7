import FaultyNetwork
import HTTPTransfer
import Testing

@Suite(.timeLimit(.minutes(20))) struct AnswerTests {
    @Test(arguments: [200, 204, 301, 404, 429, 503])
    func `An answer of any status comes back with its header and body`(status: Int) async throws {
        let answer = try await exchange { stream, _ in
            _ = try await stream.request()
            try await stream.send(
                "HTTP/1.1 \(status) Whatever\r\nRetry-After:  20 \r\nX-A: 1\r\nx-a: 2\r\nX-Empty:\r\n"
                    + (status == 204 ? "\r\n" : "Content-Length: 2\r\n\r\nhi"))
        }.get()
        #expect(answer.status == status)
        #expect(answer.body == (status == 204 ? [] : Array("hi".utf8)))
        #expect(answer.headers["retry-after"] == "20")
        #expect(answer.headers["x-a"] == "1, 2")
        #expect(answer.headers["x-empty"] == "")
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n",
        "HTTP/1.1 100 Continue\r\nX-T: 1\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello", "HTTP/1.0 200 OK\r\n\r\nhello",
    ])
    func `A body comes in any of HTTPs frames, and trailers are no header`(answer: String) async throws {
        let result = try await exchange { stream, _ in
            _ = try await stream.request()
            try await stream.send(answer)
        }.get()
        #expect(String(decoding: result.body, as: UTF8.self) == "hello")
        #expect(result.headers["x-t"] == nil)
    }

    @Test func `A packed body is unpacked`() async throws {
        let packed: [UInt8] = [
            31, 139, 8, 0, 0, 0, 0, 0, 2, 255, 203, 72, 205, 201, 201, 7, 0, 134, 166, 16, 54, 5, 0, 0, 0,
        ]
        let answer = try await exchange { stream, _ in
            _ = try await stream.request()
            try await stream.send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 25\r\n\r\n")
            try await stream.send(packed)
        }.get()
        #expect(String(decoding: answer.body, as: UTF8.self) == "hello")
    }

    @Test(arguments: ["GET", "POST", "PATCH", "HEAD"])
    func `A request arrives as it was made`(method: String) async throws {
        let log = Log()
        let body = method == "GET" || method == "HEAD" ? [] : [UInt8](repeating: 7, count: 5 << 20)
        let headers = ["X-One": "1", "X-Empty": "", "Content-Type": "application/json"]
        let answer = try await exchange(method, headers: headers, body: body) { stream, connection in
            if let request = try await stream.request() { log.note(request, connection) }
            try await stream.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n" + (method == "HEAD" ? "" : "abc"))
        }.get()
        #expect(answer.body.count == (method == "HEAD" ? 0 : 3))
        #expect(answer.headers["content-length"] == "3")
        let request = try #require(log.requests.first)
        #expect(request.firstLine == "\(method) / HTTP/1.1")
        #expect(request.body == body)
        #expect(request.header("x-one") == "1")
        #expect(request.header("x-empty") == "")
        #expect(request.header("content-type") == "application/json")
        #expect(request.header("expect") == nil)
        #expect(request.header("cookie") == nil)
        #expect(request.header("authorization") == nil)
    }

    @Test func `A large answer comes whole`() async throws {
        let body = String(repeating: "0123456789abcdef", count: 1 << 18)
        let answer = try await exchange { stream, _ in
            _ = try await stream.request()
            try await stream.answer(body)
        }.get()
        #expect(answer.body == Array(body.utf8))
    }

    @Test func `Cookies are not kept and redirections not followed, so that no token goes elsewhere`() async throws {
        let log = Log()
        try await RawServer.run { stream, connection in
            while let request = try await stream.request() {
                log.note(request, connection)
                try await stream.answer(status: "302 Found", headers: "Location: /other\r\nSet-Cookie: a=b\r\n")
            }
        } body: { server in
            for _ in 0..<2 {
                let answer = try await HTTPClient.shared.send(.init(method: "GET", url: server.url("/?token=1")))
                #expect(answer.status == 302)
            }
        }
        #expect(log.requests.map(\.firstLine) == Array(repeating: "GET /?token=1 HTTP/1.1", count: 2))
        #expect(log.requests.allSatisfy { $0.header("cookie") == nil })
    }

    @Test(arguments: [
        HTTPClient.Request(method: "GET", url: "file:///etc/passwd"),
        HTTPClient.Request(method: "GET", url: "ftp://127.0.0.1/"), HTTPClient.Request(method: "GET", url: ""),
        HTTPClient.Request(method: "GET", url: "http://127.0.0.1/ HTTP/1.1\r\nX: y"),
        HTTPClient.Request(method: "GET", url: "http://127.0.0.1:99999/"),
        HTTPClient.Request(method: "GET /", url: "http://127.0.0.1/"),
        HTTPClient.Request(method: "GET", url: "http://127.0.0.1/", headers: ["X": "1\r\nY: 2"]),
        HTTPClient.Request(method: "GET", url: "http://127.0.0.1/", headers: ["X: 1\r\nY": "2"]),
        HTTPClient.Request(method: "GET", url: "http://127.0.0.1/", headers: ["": "2"]),
    ])
    func `Requests that cannot be sent are refused`(request: HTTPClient.Request) async throws {
        let failure = await #expect(throws: HTTPClient.Failure.self) { _ = try await HTTPClient.shared.send(request) }
        #expect(failure?.kind == .requestUnusable)
    }
}
