import FaultyNetwork
import Foundation
import HTTPTransfer
import Testing

/// Proxies are configured in the environment of the whole process, so each test runs in a separate process.
@Suite(.timeLimit(.minutes(20))) struct ProxyTests {
    @Test func `A proxy of the environment is used for hosts other than this machine`() async {
        await #expect(processExitsWith: .success) {
            let log = Log()
            try await RawServer.run { stream, connection in
                guard let request = try await stream.request() else { return }
                log.note(request, connection)
                try await stream.answer("from afar")
            } body: { proxy in
                setenv("http_proxy", "http://127.0.0.1:\(proxy.port)", 1)
                let url = "http://elsewhere.example/records?a=b"
                let answer = try await HTTPClient().send(.init(method: "POST", url: url, body: [1, 2]))
                #expect(String(decoding: answer.body, as: UTF8.self) == "from afar")
            }
            #expect(log.requests.map(\.firstLine) == ["POST http://elsewhere.example/records?a=b HTTP/1.1"])
            #expect(log.requests.map(\.body) == [[1, 2]])
        }
    }

    @Test func `With TLS the proxy learns only the host, and a request that it refuses had no effect`() async {
        await #expect(processExitsWith: .success) {
            let log = Log()
            try await RawServer.run { stream, connection in
                guard let request = try await stream.request() else { return }
                log.note(request, connection)
                switch connection {
                case 0:
                    try await stream.answer(
                        status: "407 Proxy Authentication Required", headers: "Proxy-Authenticate: Basic\r\n")
                case 1: try await stream.answer(status: "502 Bad Gateway")
                case 2: try await stream.send("HTTP/1.1 200 Connection established\r\n\r\n")
                default: return
                }
            } body: { proxy in
                setenv("https_proxy", "http://127.0.0.1:\(proxy.port)", 1)
                for _ in 0..<4 {
                    let request = HTTPClient.Request(
                        method: "POST", url: "https://elsewhere.example/secret", headers: ["X-Token": "secret"],
                        body: Array("secret".utf8))
                    let failure = await #expect(throws: HTTPClient.Failure.self) {
                        _ = try await HTTPClient().send(request)
                    }
                    #expect(failure?.kind == .unreachable)
                }
            }
            #expect(
                log.requests.map(\.firstLine) == Array(repeating: "CONNECT elsewhere.example:443 HTTP/1.1", count: 4))
            #expect(log.requests.allSatisfy { !String(decoding: $0.bytes, as: UTF8.self).contains("secret") })
        }
    }

    @Test func `Requests to this machine use no proxy, nor do those that the environment excepts`() async {
        await #expect(processExitsWith: .success) {
            let proxied = Log()
            let direct = Log()
            try await RawServer.run { stream, connection in
                guard let request = try await stream.request() else { return }
                proxied.note(request, connection)
                try await stream.answer()
            } body: { proxy in
                for name in ["http_proxy", "https_proxy", "all_proxy", "ALL_PROXY"] {
                    setenv(name, "http://127.0.0.1:\(proxy.port)", 1)
                }
                try await RawServer.run { stream, connection in
                    while let request = try await stream.request() {
                        direct.note(request, connection)
                        try await stream.answer()
                    }
                } body: { server in
                    for host in ["127.0.0.1", "localhost"] {
                        _ = try await HTTPClient().send(.init(method: "GET", url: server.url(host: host)))
                    }
                    setenv("no_proxy", "127.0.0.2", 1)
                    _ = try? await HTTPClient().send(.init(method: "GET", url: server.url(host: "127.0.0.2")))
                }
            }
            #expect(direct.requests.count == 2)
            #expect(proxied.requests.isEmpty)
        }
    }
}
