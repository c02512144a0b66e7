import CloudKitHTTP
import Testing

/// The hosts and origins to which the operator's endpoints answer.
@Suite(.timeLimit(.minutes(20))) struct HostTests {
    private func get(_ cloud: TestCloud, _ target: String, _ lines: String...) async throws -> RawClient.Answer {
        let head = (["GET \(target) HTTP/1.1"] + lines).joined(separator: "\r\n") + "\r\n\r\n"
        return try #require(try await cloud.client.exchange([Array(head.utf8)]).first)
    }

    @Test func `a doubled, missing or malformed host is a bad request`() async throws {
        try await TestCloud.run { cloud in
            #expect(try await get(cloud, "/").status == 400)
            #expect(try await get(cloud, "/", "Host: 127.0.0.1", "Host: evil.example").status == 400)
            #expect(try await get(cloud, "/", "Host: 127.0.0.1", "Host: 127.0.0.1").status == 400)
            for host in ["", "a b", "user@127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000", "[::1", "a/b", "a\"b", ":80"] {
                let answer = try await get(cloud, "/", "Host: \(host)")
                #expect(answer.status == 400, "\(host)")
            }
            for host in ["127.0.0.1", "localhost:8080", "[::1]:8080", "cloud.example.com"] {
                #expect(try await get(cloud, "/", "Host: \(host)").status == 200, "\(host)")
            }
        }
    }

    @Test func `metrics and the admin API answer this machine's names only`() async throws {
        try await TestCloud.run { cloud in
            let bearer = "Authorization: Bearer \(try await cloud.operatorToken())"
            let faults = "/admin/1/\(TestCloud.container)/development/faults/list"
            for target in ["/metrics", faults] {
                for host in ["127.0.0.1", "localhost", "LOCALHOST:8080", "[::1]:8080"] {
                    #expect(try await get(cloud, target, "Host: \(host)", bearer).status == 200, "\(host)")
                }
                for host in ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8080"] {
                    let refused = try await get(cloud, target, "Host: \(host)", bearer)
                    #expect(refused.status == 403, "\(host)")
                    #expect(refused["serverErrorCode"] as? String == "ACCESS_DENIED")
                }
            }
            #expect(try await get(cloud, "/metrics", "Host: evil.example").status == 403)
        }
    }

    @Test func `metrics and the admin API refuse pages of other origins`() async throws {
        try await TestCloud.run { cloud in
            let bearer = "Authorization: Bearer \(try await cloud.operatorToken())"
            let faults = "/admin/1/\(TestCloud.container)/development/faults/list"
            for target in ["/metrics", faults] {
                for origin in ["http://evil.example", "null", "https://127.0.0.1.evil.example"] {
                    let refused = try await get(cloud, target, "Host: 127.0.0.1", "Origin: \(origin)", bearer)
                    #expect(refused.status == 403, "\(origin)")
                    #expect(refused.headers["access-control-allow-origin"] == nil)
                }
                #expect(
                    try await get(cloud, target, "Host: 127.0.0.1", "Origin: http://127.0.0.1", bearer).status == 200)
            }
        }
    }

    @Test func `health says no more than its status under other names`() async throws {
        try await TestCloud.run { cloud in
            let here = try await get(cloud, "/health", "Host: 127.0.0.1")
            #expect(here.body == #"{"status":"ok","store":"readable"}"#)
            let elsewhere = try await get(cloud, "/health", "Host: evil.example")
            #expect(elsewhere.body == #"{"status":"ok"}"#)
            // Load balancers ask with HTTP/1.0 and without a host.
            let nowhere = try await get(cloud, "/health")
            #expect(nowhere.body == #"{"status":"ok"}"#)
        }
    }
}
