import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import Crypto
import Foundation
import Testing

/// Admission of requests over HTTP (docs/web-services.md §2).
@Suite(.timeLimit(.minutes(20))) struct AuthenticationTests {
    private static let caller = "users/caller"

    @Test func `without tokens no request is admitted`() async throws {
        try await TestCloud.run { cloud in
            let answer = try await cloud.client.get(TestCloud.target(Self.caller))
            #expect(answer.status == 401)
            #expect(answer["serverErrorCode"] as? String == "AUTHENTICATION_FAILED")
            #expect((answer["uuid"] as? String).flatMap { UUID(uuidString: $0) } != nil)
            #expect(answer.headers["x-apple-request-uuid"] == answer["uuid"] as? String)
        }
    }

    @Test func `a wrong token, or one of another place, is 401`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let wrong = TestCloud.Tokens(api: String(repeating: "0", count: 64), web: tokens.web)
            let web = tokens.web ?? ""
            let forged = TestCloud.Tokens(api: tokens.api, web: (web.hasPrefix("A") ? "B" : "A") + web.dropFirst())
            let other = try await cloud.apiToken()
            for target in [
                TestCloud.target(Self.caller, tokens: wrong), TestCloud.target(Self.caller, tokens: forged),
                TestCloud.target(Self.caller, tokens: .init(api: other.api, web: tokens.web)),
                TestCloud.target(Self.caller, "private", tokens, environment: "production"),
                TestCloud.target(Self.caller, "private", tokens, container: "iCloud.other"),
            ] {
                let answer = try await cloud.client.get(target)
                #expect(answer.status == 401)
                #expect(answer["serverErrorCode"] as? String == "AUTHENTICATION_FAILED")
            }
        }
    }

    @Test func `a caller without a user is shown where to sign in`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.apiToken()
            let answer = try await cloud.client.get(TestCloud.target(Self.caller, "public", tokens))
            #expect(answer.status == 421)
            #expect(answer["serverErrorCode"] as? String == "AUTHENTICATION_REQUIRED")
            #expect(answer["reason"] as? String == "request needs authorization")
            let address = try #require(answer["redirectURL"] as? String)
            #expect(address.hasPrefix("http://127.0.0.1/sign-in?container=iCloud.com.example.app&"))
            let page = try await cloud.client.get(String(address.dropFirst("http://127.0.0.1".count)))
            #expect(page.status == 200)
            #expect(page.headers["content-type"] == "text/html; charset=UTF-8")
            #expect(page.headers["content-security-policy"]?.contains("default-src 'none'") == true)
            #expect(page.body.contains(tokens.api))
        }
    }

    @Test func `the public address is returned where it is configured`() async throws {
        try await TestCloud.run(.init(port: 0, publicURL: "https://cloud.example.com")) { cloud in
            let tokens = try await cloud.apiToken()
            let answer = try await cloud.client.get(TestCloud.target(Self.caller, "public", tokens))
            #expect((answer["redirectURL"] as? String)?.hasPrefix("https://cloud.example.com/sign-in?") == true)
        }
    }

    @Test func `every answer brings a new token, refusals too, and the old one stays good`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn(lifetime: "session")
            cloud.clock.advance(1000)
            let answer = try await cloud.client.get(TestCloud.target(Self.caller, "private", tokens))
            #expect(answer.status == 200)
            let next = try #require(answer.headers["x-apple-cloudkit-web-auth-token"])
            #expect(next != tokens.web)
            let refused = try await cloud.client.post(TestCloud.target("records/lookup", "private", tokens), "{")
            #expect(refused.status == 400)
            #expect(refused.headers["x-apple-cloudkit-web-auth-token"] != nil)
            for web in [tokens.web, next] {
                let again = try await cloud.client.get(
                    TestCloud.target(Self.caller, "private", .init(api: tokens.api, web: web)))
                #expect(again.status == 200)
                #expect(again["userRecordName"] as? String == answer["userRecordName"] as? String)
            }
        }
    }

    @Test func `an expired session signs in again`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn(lifetime: "session")
            cloud.clock.advance(1_800_000)
            let answer = try await cloud.client.get(TestCloud.target(Self.caller, "private", tokens))
            #expect(answer.status == 421)
            #expect(answer["redirectURL"] != nil)
            #expect(answer.headers["x-apple-cloudkit-web-auth-token"] == nil)
        }
    }

    @Test func `a revoked token and a disabled account are shut out`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let accounts = cloud.accountStore.accounts
            try await accounts.setDisabled(true, email: "ada@example.com")
            let refused = try await cloud.client.get(
                TestCloud.target(Self.caller, "private", tokens), headers: ["X-Welkin-Client": "sdk/1"])
            #expect(refused.status == 403)
            #expect(refused["failure"] as? String == "accountRestricted")
            try await accounts.setDisabled(false, email: "ada@example.com")
            #expect(try await cloud.client.get(TestCloud.target(Self.caller, "private", tokens)).status == 200)
            _ = try await cloud.accountStore.apiTokens.revoke(tokens.api)
            #expect(try await cloud.client.get(TestCloud.target(Self.caller, "private", tokens)).status == 401)
        }
    }

    @Test func `an escaped token is the same token`() async throws {
        try await TestCloud.run { cloud in
            var tokens = try await cloud.signIn()
            // Ordinary base 64, with a plus that became a space on its way.
            tokens.web = tokens.web?.replacing("_", with: "%2F").replacing("-", with: "%20")
            #expect(try await cloud.client.get(TestCloud.target(Self.caller, "private", tokens)).status == 200)
        }
    }

    @Test func `a device signs in, opens, and signs out`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let puzzle = try await cloud.client.post(
                TestCloud.sessions("prepare", tokens), #"{"email":"ada@example.com"}"#)
            #expect(puzzle["rounds"] as? Int == 1)
            let session = try await cloud.client.post(
                TestCloud.sessions("create", tokens),
                #"{"email":"ada@example.com","proof":"\#(TestCloud.proofText)","lifetime":"device"}"#)
            let id = try #require(session["deviceID"] as? String)
            let secret = try #require(session["deviceSecret"] as? String)
            let device = #"{"deviceID":"\#(id)","deviceSecret":"\#(secret)"}"#
            #expect(try await cloud.client.post(TestCloud.sessions("create", tokens), device).status == 200)
            #expect(try await cloud.client.post(TestCloud.sessions("delete", tokens), device).status == 200)
            #expect(try await cloud.client.post(TestCloud.sessions("create", tokens), device).status == 401)
            let web = TestCloud.Tokens(api: tokens.api, web: session["ckWebAuthToken"] as? String)
            #expect(try await cloud.client.get(TestCloud.target(Self.caller, "private", web)).status == 421)
        }
    }

    @Test func `guessing a password is slowed down`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let guess = #"{"email":"ada@example.com","proof":"AAAA"}"#
            for _ in 0..<5 {
                #expect(try await cloud.client.post(TestCloud.sessions("create", tokens), guess).status == 401)
            }
            let answer = try await cloud.client.post(TestCloud.sessions("create", tokens), guess)
            #expect(answer.status == 429)
            #expect(answer.headers["retry-after"] == "900")
            #expect(answer["retryAfter"] as? Double == 900)
        }
    }

    @Test func `B-ACC-09 a signed request is the key's user, in the public database only`() async throws {
        try await TestCloud.run { cloud in
            let key = P256.Signing.PrivateKey()
            let row = try await cloud.accountStore.serverKeys.add(
                publicKey: key.publicKey.pemRepresentation, container: ContainerID(TestCloud.container),
                environment: .development, name: "")
            func send(_ target: String, signing signed: String) async throws -> RawClient.Answer {
                // The test clock shows this time.
                let date = "2023-11-14T22:13:20Z"
                let digest = Data(SHA256.hash(data: [])).base64EncodedString()
                let signature = try key.signature(for: Data("\(date):\(digest):\(signed)".utf8))
                return try await cloud.client.get(
                    target,
                    headers: [
                        "X-Apple-CloudKit-Request-KeyID": row.id,
                        "X-Apple-CloudKit-Request-ISO8601Date": date,
                        "X-Apple-CloudKit-Request-SignatureV1": signature.derRepresentation.base64EncodedString(),
                    ])
            }
            let target = TestCloud.target(Self.caller, "public")
            let answer = try await send(target, signing: target)
            #expect(answer.status == 200)
            #expect(answer["userRecordName"] as? String == row.userRecordName)
            #expect(try await send(target + "?a=b", signing: target).status == 200)
            #expect(try await send(target, signing: target + "x").status == 401)
            let own = TestCloud.target(Self.caller, "private")
            #expect(try await send(own, signing: own).status == 401)
        }
    }
}

extension TestCloud {
    fileprivate static func target(_ endpoint: String, tokens: Tokens) -> String {
        target(endpoint, "private", tokens)
    }
}
