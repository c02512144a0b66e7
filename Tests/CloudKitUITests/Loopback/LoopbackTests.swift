import Foundation
import HTTPTransfer
import SeededChance
import Testing

@testable import CloudKitUI

/// The small HTTP server of the panel.
@Suite(.timeLimit(.minutes(20))) struct LoopbackTests {
    private func read(_ text: String) -> LoopbackRequest.Reading { LoopbackRequest.read(Array(text.utf8)) }

    @Test func `requests are read when they are complete`() {
        #expect(read("GET / HTTP/1.1\r\nHost: a\r\n") == .incomplete)
        #expect(
            read("GET /x HTTP/1.1\r\nHost:  a:1\r\n\r\n")
                == .request(LoopbackRequest(method: "GET", path: "/x", headers: ["host": "a:1"])))
        #expect(read("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nab") == .incomplete)
        #expect(
            read("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc")
                == .request(
                    LoopbackRequest(
                        method: "POST", path: "/", headers: ["content-length": "3"], body: Array("abc".utf8))))
    }

    @Test(arguments: [
        ("GET http://a/ HTTP/1.1\r\n\r\n", 400), ("GET /\r\n\r\n", 400), ("GET / HTTP/2\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nA b: c\r\n\r\n", 400), ("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
        ("POST / HTTP/1.1\r\nContent-Length: 65537\r\n\r\n", 413),
        ("GET /" + String(repeating: "a", count: 20_000), 431),
        ("GET / HTTP/1.1\r\nA: " + String(repeating: "a", count: 20_000) + "\r\n\r\n", 431),
    ])
    func `what is no request or too large is refused`(text: String, status: Int) {
        #expect(read(text) == .refused(status))
    }

    @Test func `any bytes are read without a trap`() {
        var random = SplitMix64(seed: 7)
        let good = Array("POST /panel HTTP/1.1\r\nHost: 127.0.0.1:1\r\nContent-Length: 5\r\n\r\nabcde".utf8)
        for _ in 0..<3000 {
            var bytes = good
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            _ = LoopbackRequest.read(bytes)
        }
    }

    @Test func `the user of a connection is found in Linux's list`() {
        let table = """
              sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
               0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1
               1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 2 1
               2: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 3 1
            """
        #expect(LoopbackPeer.isUser(1001, in: table, port: 8080, peer: 50000) == true)
        #expect(LoopbackPeer.isUser(1000, in: table, port: 8080, peer: 50000) == false)
        #expect(LoopbackPeer.isUser(1000, in: table, port: 8080, peer: 50001) == nil)
        let mapped = table.replacingOccurrences(of: "0100007F", with: "0000000000000000FFFF00000100007F")
        #expect(LoopbackPeer.isUser(1001, in: mapped, port: 8080, peer: 50000) == true)
        #expect(LoopbackPeer.isUser(0, in: "nonsense\n1 2 3", port: 8080, peer: 1) == nil)
    }

    @Test func `requests are answered on a port of the system's choice, many at a time`() async throws {
        let listener = try LoopbackListener { request in
            LoopbackResponse(status: 200, headers: ["X-Path": request.path], body: request.body)
        }
        defer { listener.stop() }
        let base = "http://127.0.0.1:\(listener.port)"
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<20 {
                group.addTask {
                    let body = [UInt8](repeating: UInt8(number), count: 3000 * number)
                    let answer = try await HTTPClient.shared.send(
                        HTTPClient.Request(method: "POST", url: base + "/\(number)", headers: [:], body: body))
                    #expect(answer.status == 200)
                    #expect(answer.body == body)
                }
            }
            try await group.waitForAll()
        }
    }
}
