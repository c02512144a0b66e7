import CloudKitModel
import CloudKitServer
import Foundation
import PushReceiver
import SeededChance
import Testing

@testable import WebPush

@Suite(.timeLimit(.minutes(20))) struct EndpointTests {
    @Test(arguments: [
        "https://fcm.googleapis.com/fcm/send/dyGq:APA91bE_-x",
        "https://updates.push.services.mozilla.com/wpush/v2/gAAAA",
        "https://web.push.apple.com/QNs?a=b&c", "https://push.example.net:443/x", "https://PUSH.example.net",
        "https://a.b-c.example/%7Euser",
    ])
    func `Endpoints of browsers are accepted`(url: String) throws {
        let endpoint = try WebPushEndpointRules().endpoint(url)
        #expect(endpoint.url == url && !endpoint.isHostNamed)
        #expect(url.hasPrefix(endpoint.origin) && endpoint.origin.hasPrefix("https://"))
    }

    @Test(arguments: [
        "", "https://", "push.example.net/x", "http://push.example.net/x", "ftp://push.example.net/x",
        "HTTPS://push.example.net/x", "https://push.example.net:8443/x", "https://push.example.net:0/x",
        "https://push.example.net:/x", "https://localhost/x", "https://localhost:443/x", "https://127.0.0.1/x",
        "https://10.0.0.1/x", "https://2130706433/x", "https://0x7f.1/x", "https://127.1/x", "https://127.0.0.0x1/x",
        "https://[::1]/x", "https://[::1]:443/x", "https://[2606:4700::1111]/x", "https://user@push.example.net/x",
        "https://push.example.net@127.0.0.1/x", "https://push.example.net%2f@127.0.0.1/x",
        "https://127.0.0.1#@push.example.net/",
        "https://127.0.0.1\\@push.example.net/", "https://push.example.net/ x", "https://push.example.net/\r\nHost: a",
        "https://push..example.net/", "https://.example.net/", "https://push.example.net./", "https://bücher.example/x",
        "https:///push.example.net/x", "file:///etc/passwd", "https://push.example.net/x#y",
    ])
    func `Other endpoints are refused`(url: String) {
        let failure = #expect(throws: RequestFailure.self) { try WebPushEndpointRules().endpoint(url) }
        #expect(failure?.code == .badRequest)
    }

    @Test func `An endpoint is not longer than 2048 bytes`() throws {
        let url = "https://push.example.net/"
        _ = try WebPushEndpointRules().endpoint(url + String(repeating: "a", count: 2048 - url.count))
        #expect(throws: RequestFailure.self) {
            try WebPushEndpointRules().endpoint(url + String(repeating: "a", count: 2049 - url.count))
        }
    }

    @Test func `Hosts that the operator allows may be in any network`() throws {
        let rules = WebPushEndpointRules(namedHosts: ["127.0.0.1:8090", "Push.lan", "[::1]:9"])
        for url in ["http://127.0.0.1:8090/x", "https://push.lan/x", "http://push.lan:81/x", "https://[::1]:9/x"] {
            let endpoint = try rules.endpoint(url)
            #expect(endpoint.isHostNamed)
        }
        let named = try rules.endpoint("http://push.lan:81/x")
        #expect(named.origin == "http://push.lan:81")
        for url in [
            "http://127.0.0.1/x", "http://127.0.0.1:8091/x", "ftp://push.lan/x", "http://[::1]/x", "http://a@push.lan/",
            "http://push.lan.example/",
        ] {
            #expect(throws: RequestFailure.self) { try rules.endpoint(url) }
        }
        let other = try rules.endpoint("https://push.example.net/")
        #expect(!other.isHostNamed)
    }

    /// Checks that another URL parser agrees about public endpoints.
    @Test(arguments: [UInt64(1), 2, 3]) func `Damaged endpoints are parsed as by another URL parser`(seed: UInt64)
        throws
    {
        var random = SplitMix64(seed: seed)
        let parts = [
            "@", ":", "/", "//", "\\", "?", "#", "[", "]", "::1", "127.0.0.1", ".", "%40", "443", "localhost", " ",
            "0x7f",
        ]
        var taken = 0
        for _ in 0..<3_000 {
            var url = Array("https://push.example.net:443/a/b?c")
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let index = Int.random(in: 0...url.count, using: &random)
                let part = Array(parts.randomElement(using: &random) ?? "")
                switch Int.random(in: 0..<3, using: &random) {
                case 0 where index < url.count: url.remove(at: index)
                case 1 where index < url.count: url.replaceSubrange(index...index, with: part)
                default: url.insert(contentsOf: part, at: index)
                }
            }
            guard let endpoint = try? WebPushEndpointRules().endpoint(String(url)) else { continue }
            taken += 1
            let other = try #require(URLComponents(string: endpoint.url), "\(endpoint.url)")
            #expect(other.scheme == "https" && other.user == nil && other.password == nil && other.fragment == nil)
            #expect(other.port == nil || other.port == 443)
            let host = try #require(other.host, "\(endpoint.url)")
            #expect(host.contains(".") && !host.contains(":"))
            #expect(endpoint.origin == "https://" + host + (other.port == nil ? "" : ":443"), "\(endpoint.url)")
        }
        #expect(taken > 100)
    }

    @Test func `A stored subscription is read back unchanged`() throws {
        let json = Browser().subscription(endpoint: "https://push.example.net/x")
        let read = try WebPushSubscription(Array(json.utf8), rules: WebPushEndpointRules())
        let address = try read.address
        #expect(address.identity == "https://push.example.net/x" && address.bytes.count <= PushAddress.bytesMax)
        let again = try WebPushSubscription(address.bytes, rules: WebPushEndpointRules())
        #expect(again == read)
    }

    @Test(arguments: [
        "", "{}", "[]", "null", #"{"endpoint":"https://push.example.net/x"}"#,
        #"{"endpoint":"https://push.example.net/x","keys":{"p256dh":"","auth":""}}"#,
        #"{"endpoint":"https://push.example.net/x","keys":{"p256dh":"BCVx","auth":"BTBZMqHH6r4Tts7J_aSIgg"}}"#,
        // Not a point of the curve.
        #"{"endpoint":"https://push.example.net/x","keys":{"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw0","auth":"BTBZMqHH6r4Tts7J_aSIgg"}}"#,
        #"{"endpoint":"https://push.example.net/x","keys":{"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4","auth":"BTBZ"}}"#,
    ])
    func `An invalid subscription is refused`(json: String) {
        let failure = #expect(throws: RequestFailure.self) {
            try WebPushSubscription(Array(json.utf8), rules: WebPushEndpointRules())
        }
        #expect(failure?.code == .badRequest)
    }
}
