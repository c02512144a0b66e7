import Foundation
import Testing

@testable import CloudKitHTTP

/// One connection with several requests, whatever way their bytes come.
@Suite(.timeLimit(.minutes(20))) struct RequestConnectionTests {
    private static func request(_ target: String, headers: [String: String] = [:]) -> String {
        String(decoding: RawClient.request("GET", target, headers: headers), as: UTF8.self)
    }

    /// Sends texts, one piece after the other, and reads answers to so many requests.
    private func answers(
        _ cloud: TestCloud, to pieces: [String], count: Int, endsInput: Bool = false, isEnd: Bool = false
    ) async throws -> [RawClient.Answer] {
        try await RawConnection.run(port: cloud.client.port) { connection in
            for piece in pieces { try connection.write(Array(piece.utf8)) }
            if endsInput { connection.endInput() }
            var answers: [RawClient.Answer] = []
            for _ in 0..<count { answers.append(try connection.readAnswer(hasBody: true)) }
            if isEnd {
                #expect(throws: ClientError.self) { try connection.readMore() }
            }
            return answers
        }
    }

    @Test func `requests that come together are answered in their order`() async throws {
        try await TestCloud.run { cloud in
            let many = (0..<40).map { Self.request($0 % 2 == 0 ? "/health" : "/nowhere") }.joined()
            let answers = try await answers(cloud, to: [many], count: 40)
            #expect(answers.map(\.status) == (0..<40).map { $0 % 2 == 0 ? 200 : 404 })
        }
    }

    @Test func `bodies that come together are each their own request's`() async throws {
        try await TestCloud.run { cloud in
            let target = TestCloud.target("records/query", "public", try await cloud.apiToken())
            let good = #"{"query":{"recordType":"Note"}}"#
            func post(_ body: String) -> String {
                String(decoding: RawClient.request("POST", target, body: body), as: UTF8.self)
            }
            let expected = try await cloud.client.post(target, good).status
            let padded = good + String(repeating: " ", count: 60_000)
            let answers = try await answers(
                cloud, to: [post(good) + post("{") + post(padded) + post(good)], count: 4)
            #expect(answers.map(\.status) == [expected, 400, expected, expected])
        }
    }

    @Test func `a body in pieces is read to its end`() async throws {
        try await TestCloud.run { cloud in
            let target = TestCloud.target("records/query", "public", try await cloud.apiToken())
            let body = #"{"query":{"recordType":"Note"}}"#
            let expected = try await cloud.client.post(target, body).status
            let head = "POST \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
            let chunks = body.map { "1\r\n\($0)\r\n" } + ["0\r\n\r\n", Self.request("/health")]
            let answers = try await answers(cloud, to: [head] + chunks, count: 2)
            #expect(answers.map(\.status) == [expected, 200])
        }
    }

    @Test func `a request that asks for it is the last one`() async throws {
        try await TestCloud.run { cloud in
            let last = Self.request("/health", headers: ["Connection": "close"]) + Self.request("/nowhere")
            let answers = try await answers(cloud, to: [last], count: 1, isEnd: true)
            #expect(answers.map(\.status) == [200])
        }
    }

    @Test func `a client that has ended its output gets its answer`() async throws {
        try await TestCloud.run { cloud in
            for count in [1, 3] {
                let requests = String(repeating: Self.request("/health"), count: count)
                let answers = try await answers(cloud, to: [requests], count: count, endsInput: true, isEnd: true)
                #expect(answers.map(\.status) == Array(repeating: 200, count: count))
            }
        }
    }

    @Test func `what is no request is refused, and the connection ends`() async throws {
        try await TestCloud.run { cloud in
            let answers = try await answers(
                cloud, to: [Self.request("/health"), "GET\r\n\r\n"], count: 2, isEnd: true)
            #expect(answers.map(\.status) == [200, 400])
            #expect(answers[1].headers["connection"] == "close")
        }
    }

    @Test func `a target with scheme and host names a path`() async throws {
        try await TestCloud.run { cloud in
            let targets = ["http://127.0.0.1/health", "http://127.0.0.1", "http://127.0.0.1?a=b", "/health"]
            let answers = try await answers(cloud, to: targets.map { Self.request($0) }, count: 4)
            #expect(answers.map(\.status) == [200, 200, 200, 200])
            #expect(answers.allSatisfy { $0.headers["date"]?.hasSuffix(" GMT") == true })
        }
    }

    @Test func `responses have the time in the form of HTTP`() {
        #expect(ResponseDate.text(of: 784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(ResponseDate.text(of: 1_709_209_800) == "Thu, 29 Feb 2024 12:30:00 GMT")
    }
}
