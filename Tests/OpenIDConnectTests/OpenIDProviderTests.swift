import CloudKitAccounts
import Crypto
import FaultyNetwork
import Foundation
import HTTPTransfer
import OpenIDConnect
import SimulatedSigners
import Synchronization
import Testing
import TextEncodings
import WebCredentials

/// A provider over HTTP on this machine: what is asked, what is believed, and what is not.
@Suite(.timeLimit(.minutes(20))) struct OpenIDProviderTests {
    private static let seconds: Int64 = 1_700_000_000
    /// Is set by hand.
    private final class Clock: Sendable {
        private let time = Mutex(OpenIDProviderTests.seconds * 1000)

        func withLock<Value>(_ body: (inout Int64) -> Value) -> Value { time.withLock { body(&$0) } }
    }

    private let clock = Clock()
    private static let request = ProviderRequest(
        redirect: "https://cloud.example.com/provider", state: "s t&1", nonce: "n-1",
        verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")

    private static func token(_ issuer: String, _ nonce: String, mark: UInt8 = 1, id: String? = "one") throws -> String
    {
        var signer = TokenIssuer(
            key: try .key(.es256, mark: mark), issuer: issuer, client: "welkin", nonce: nonce, seconds: seconds)
        signer.keyID = id
        return try signer.token()
    }

    private static func honest() throws -> ScriptedProvider.Script {
        ScriptedProvider.Script(keys: [(try .key(.es256), "one")], token: { try token($0, $1) })
    }

    private func client(_ issuer: String, secret: String? = nil) -> OpenIDProvider {
        OpenIDProvider(
            ProviderSettings(issuer: issuer, clientID: "welkin", clientSecret: secret, label: "Work"),
            client: HTTPClient(), now: { [clock] in clock.withLock { $0 } })
    }

    private func identity(_ provider: OpenIDProvider) async throws -> IDToken {
        try await provider.identity(code: "c+1", Self.request, now: clock.withLock { $0 })
    }

    @Test func `a browser is sent with PKCE, and the code is exchanged with the secret of the cloud`() async throws {
        try await ScriptedProvider.run(Self.honest()) { scripted, issuer in
            let provider = client(issuer, secret: "g:h %")
            let url = try #require(URLComponents(string: try await provider.authorizationURL(Self.request)))
            let items = Dictionary(uniqueKeysWithValues: (url.queryItems ?? []).map { ($0.name, $0.value ?? "") })
            #expect(url.path == "/authorize")
            #expect(
                items == [
                    "response_type": "code", "client_id": "welkin", "redirect_uri": Self.request.redirect,
                    "scope": "openid email profile", "state": "s t&1", "nonce": "n-1", "code_challenge_method": "S256",
                    // RFC 7636, appendix B.
                    "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
                ])
            #expect(try await identity(provider).subject == "ada-at-work")
            let exchange = try #require(scripted.requests.first { $0.firstLine.contains("/token") })
            #expect(exchange.method == "POST")
            #expect(exchange.header("authorization") == "Basic " + Base64.encode(Array("welkin:g%3Ah%20%25".utf8)))
            #expect(
                String(decoding: exchange.body, as: UTF8.self)
                    == "grant_type=authorization_code&code=c%2B1&redirect_uri=https%3A%2F%2Fcloud.example.com%2Fprovider&code_verifier=\(Self.request.verifier)"
            )
            // Description and keys are kept.
            _ = try await identity(provider)
            #expect(scripted.count("openid-configuration") == 1)
            #expect(scripted.count("/keys") == 1)
            clock.withLock { $0 += 3_600_000 }
            await #expect(throws: CredentialError.claim("exp")) { try await identity(provider) }
            #expect(scripted.count("openid-configuration") == 2)
            #expect(scripted.count("/keys") == 2)
        }
    }

    @Test func `a public client names itself in the body, and so does one whose provider asks for that`() async throws {
        var script = try Self.honest()
        try await ScriptedProvider.run(script) { scripted, issuer in
            _ = try await identity(client(issuer))
            let exchange = try #require(scripted.requests.first { $0.firstLine.contains("/token") })
            #expect(exchange.header("authorization") == nil)
            #expect(String(decoding: exchange.body, as: UTF8.self).hasSuffix("&client_id=welkin"))
        }
        let body =
            #"{"issuer":"ISSUER","authorization_endpoint":"ISSUER/a","token_endpoint":"ISSUER/token","jwks_uri":"ISSUER/keys","token_endpoint_auth_methods_supported":["client_secret_post"]}"#
        script.answers["/none"] = ""
        try await ScriptedProvider.run(script) { scripted, issuer in
            scripted.change {
                $0.answers["/.well-known/openid-configuration"] = ScriptedProvider.ok(
                    body.replacing("ISSUER", with: issuer))
            }
            _ = try await identity(client(issuer, secret: "g"))
            let exchange = try #require(scripted.requests.first { $0.firstLine.contains("/token") })
            #expect(exchange.header("authorization") == nil)
            #expect(String(decoding: exchange.body, as: UTF8.self).hasSuffix("&client_id=welkin&client_secret=g"))
        }
    }

    @Test func `a new key is fetched when a token names it, and not for every token that names none`() async throws {
        try await ScriptedProvider.run(Self.honest()) { scripted, issuer in
            let provider = client(issuer)
            _ = try await identity(provider)
            let next = try SigningKey.key(.es256, mark: 2)
            scripted.change {
                $0.keys = [(next, "two")]
                $0.token = { try Self.token($0, $1, mark: 2, id: "two") }
            }
            // Within the pause the provider is not asked again.
            await #expect(throws: CredentialError.unknownKey) { try await identity(provider) }
            #expect(scripted.count("/keys") == 1)
            clock.withLock { $0 += 30_000 }
            #expect(try await identity(provider).subject == "ada-at-work")
            #expect(scripted.count("/keys") == 2)
            // The old key is not accepted any more; nor does a swapped one stand for it.
            clock.withLock { $0 += 30_000 }
            scripted.change { $0.token = { try Self.token($0, $1) } }
            await #expect(throws: CredentialError.unknownKey) { try await identity(provider) }
            #expect(scripted.count("/keys") == 3)
            scripted.change { $0.token = { try Self.token($0, $1, id: "two") } }
            await #expect(throws: CredentialError.signature) { try await identity(provider) }
            #expect(scripted.count("/keys") == 3)
        }
    }

    @Test func `a provider that fails is not asked by everyone who waits`() async throws {
        try await ScriptedProvider.run(Self.honest()) { scripted, issuer in
            scripted.change {
                $0.answers["/.well-known/openid-configuration"] =
                    "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
            }
            let provider = client(issuer)
            for _ in 0..<3 {
                await #expect(throws: ProviderFailure.status(503)) { try await provider.authorizationURL(Self.request) }
            }
            #expect(scripted.count("openid-configuration") == 1)
            scripted.change { $0.answers = [:] }
            clock.withLock { $0 += 5_000 }
            let url = try await provider.authorizationURL(Self.request)
            #expect(url.hasPrefix(issuer))
        }
    }

    @Test func `lies of a provider are noticed`() async throws {
        let lies: [(String, @Sendable (inout ScriptedProvider.Script) -> Void)] = [
            ("a stale nonce", { $0.nonce = "n-0" }),
            ("another issuer in the token", { $0.token = { _, nonce in try Self.token("http://127.0.0.1:1", nonce) } }),
            (
                "no signature",
                {
                    $0.token = { issuer, nonce in
                        var signer = TokenIssuer(
                            key: try .key(.es256), issuer: issuer, client: "welkin", nonce: nonce, seconds: Self.seconds
                        )
                        signer.algorithm = "none"
                        return try signer.token()
                    }
                }
            ),
            (
                "HMAC with the public key",
                {
                    $0.token = { issuer, nonce in
                        var signer = TokenIssuer(
                            key: try .key(.es256), issuer: issuer, client: "welkin", nonce: nonce, seconds: Self.seconds
                        )
                        signer.algorithm = "HS256"
                        return try signer.token(secret: Array(JSONEncoder().encode(signer.key.jwk(id: "one"))))
                    }
                }
            ),
            ("another's key", { $0.token = { try Self.token($0, $1, mark: 2) } }),
            ("another issuer in the description", { $0.description["issuer"] = "http://127.0.0.1:1" }),
            ("keys over plain HTTP from elsewhere", { $0.description["jwks_uri"] = "http://keys.example.com/" }),
            ("tokens from a file", { $0.description["token_endpoint"] = "file:///etc/passwd" }),
            ("a browser sent to plain HTTP", { $0.description["authorization_endpoint"] = "http://evil.example.com/" }),
            (
                "a host that only begins like this machine",
                {
                    $0.description["token_endpoint"] = "http://localhost.example.com/token"
                }
            ),
            (
                "a redirect of the token",
                {
                    $0.answers["/token"] = "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"
                }
            ),
            (
                "a redirect of the keys",
                {
                    $0.answers["/keys"] = "HTTP/1.1 301 Moved\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"
                }
            ),
            ("no JSON", { $0.answers["/token"] = ScriptedProvider.ok("<html>") }),
            (
                "an error",
                {
                    $0.answers["/token"] =
                        "HTTP/1.1 400 Bad\r\nContent-Length: 25\r\n\r\n{\"error\":\"invalid_grant\"} "
                }
            ),
            (
                "keys without end",
                {
                    $0.answers["/keys"] = ScriptedProvider.ok(
                        #"{"keys":[]"# + String(repeating: " ", count: JSONWebKeySet.bytesMax) + "}")
                }
            ),
            (
                "a description without end",
                {
                    $0.answers["/.well-known/openid-configuration"] =
                        "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n" + String(repeating: " ", count: 300_000)
                }
            ),
        ]
        for (name, lie) in lies {
            try await ScriptedProvider.run(Self.honest()) { scripted, issuer in
                scripted.change(lie)
                await #expect(throws: (any Error).self, "\(name)") { try await identity(client(issuer)) }
                #expect(scripted.count("/elsewhere") == 0)
            }
        }
    }

    @Test(arguments: [
        ("https://id.example.com", true), ("https://", false), ("http://127.0.0.1:8080/realm", true),
        ("http://localhost", true), ("http://[::1]:1", true), ("http://id.example.com", false),
        ("http://127.0.0.1.example.com", false), ("https://a@b", false), ("https://a b", false), ("ftp://a", false),
        ("http://localhost@evil.example.com", false),
    ])
    func `providers are reached by TLS, or on this machine`(_ url: String, _ isUsable: Bool) {
        #expect(ProviderSettings.isUsable(url) == isUsable)
    }
}
