import CloudKitAccounts
import CloudKitHTTP
import CloudKitModel
import Crypto
import Foundation
import SimulatedSigners
import Synchronization
import Testing
import TextEncodings
import WebCredentials

/// Passkeys and a provider of identities over HTTP, on the cloud's own page.
@Suite(.timeLimit(.minutes(20))) struct SignInMethodTests {
    /// Vouches for whoever brings the code `ada`.
    private final class Provider: SignInProvider {
        let label = "Work"
        let requests = Mutex<[ProviderRequest]>([])

        func authorizationURL(_ request: ProviderRequest) async throws -> String {
            requests.withLock { $0.append(request) }
            return "https://id.example.com/authorize?state=\(request.state)"
        }

        func identity(code: String, _ request: ProviderRequest, now: Int64) async throws -> IDToken {
            guard code == "ada", requests.withLock({ $0.contains(request) }) else {
                throw CredentialError.claim("nonce")
            }
            return IDToken(
                issuer: "https://id.example.com", subject: "ada-at-work", email: "ada@example.com",
                isEmailVerified: true, name: "Ada")
        }
    }

    /// The cloud's page `/account`, which sends its requests with the tokens that it has.
    private struct Page {
        var cloud: TestCloud
        var web: String?

        func send(_ action: String, _ body: [String: Any]) async throws -> RawClient.Answer {
            let api = PageTokens(cloud.accountStore.serverEnvironment).token(
                container: ContainerID("welkin.account"), environment: .production)
            let query = "?ckAPIToken=\(api)" + (web.map { "&ckWebAuthToken=\($0)" } ?? "")
            return try await cloud.client.post(
                "/device/1/welkin.account/production/\(action)\(query)",
                String(decoding: try JSONSerialization.data(withJSONObject: body), as: UTF8.self))
        }

        /// Signs in with a body of `sessions/create`.
        mutating func signIn(_ body: [String: Any]) async throws -> RawClient.Answer {
            let answer = try await send(
                "sessions/create", body.merging(["deviceName": "Page", "wantsKeychain": true]) { $1 })
            web = answer["ckWebAuthToken"] as? String
            return answer
        }
    }

    private static let publicURL = "https://cloud.example.com"
    private static let words = Data(repeating: 4, count: 32).base64EncodedString()
    private static let some = Data([1, 2, 3]).base64EncodedString()

    private static func text(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    private static func bytes(_ value: Any?) throws -> [UInt8] {
        let text = try #require(value as? String)
        return try #require(Base64.decode(text))
    }

    private static func assertion(_ authenticator: SimulatedAuthenticator, _ challenge: [UInt8]) throws -> [String: Any]
    {
        let used = try authenticator.use(challenge)
        return [
            "id": text(authenticator.id), "clientData": text(used.clientData),
            "authenticatorData": text(used.authenticatorData), "signature": text(used.signature),
        ]
    }

    private static func run(
        _ provider: Provider? = nil, isSignUpOpen: Bool = true,
        _ body: @escaping @Sendable (TestCloud) async throws -> Void
    ) async throws {
        try await TestCloud.run(
            .init(port: 0, publicURL: publicURL, isSignUpOpen: isSignUpOpen), rounds: 1, provider: provider, body)
    }

    @Test func `a passkey is made, signs in with its wrap, agrees to changes and is removed`() async throws {
        try await Self.run { cloud in
            _ = try await cloud.signIn()
            var page = Page(cloud: cloud)
            let first = try await page.signIn(["email": "ada@example.com", "proof": TestCloud.proofText])
            #expect(first.status == 200 && first["email"] == nil)
            #expect(
                try await page.send(
                    "keychain/create",
                    [
                        "passwordWrap": Self.some, "recoveryWrap": Self.some, "recoveryProof": Self.words,
                        "identity": Self.some,
                    ]
                ).status == 200)
            let beginning = try await page.send("passkeys/begin", ["purpose": "registration"])
            #expect(beginning["party"] as? String == "cloud.example.com")
            #expect(beginning["email"] as? String == "ada@example.com")
            #expect((beginning["known"] as? [Any])?.isEmpty == true)
            let authenticator = SimulatedAuthenticator(key: try .key(.es256))
            let made = try authenticator.register(Self.bytes(beginning["challenge"]))
            let wrap = Self.text([9, 9])
            let addition: [String: Any] = [
                "name": "Laptop", "clientData": Self.text(made.clientData), "attestation": Self.text(made.attestation),
                "wrap": wrap, "generation": 1, "proof": TestCloud.proofText,
            ]
            let added = try await page.send("passkeys/create", addition)
            #expect(added.status == 200, "\(added.body)")
            #expect(try await page.send("passkeys/create", addition).status == 401, "a challenge is accepted once")
            let methods = try await page.send("accounts/methods", [:])
            #expect(methods["hasPassword"] as? Bool == true && methods["provider"] == nil)
            let line = try #require((methods["passkeys"] as? [[String: Any]])?.first)
            #expect(line["name"] as? String == "Laptop" && line["opensKeys"] as? Bool == true)

            var other = Page(cloud: cloud)
            let challenge = try await other.send("passkeys/begin", [:])
            #expect(challenge["email"] == nil && challenge["user"] == nil && challenge["known"] == nil)
            let used = try Self.assertion(authenticator, Self.bytes(challenge["challenge"]))
            let session = try await other.signIn(["passkey": used])
            #expect(session["email"] as? String == "ada@example.com")
            #expect((session["keychain"] as? [String: Any])?["passkeyWrap"] as? String == wrap)
            var replay = Page(cloud: cloud)
            #expect(try await replay.signIn(["passkey": used]).status == 401)
            // An agreement opens the wrap, too, and the wish for deletion.
            func agreement() async throws -> [String: Any] {
                let challenge = try await other.send("passkeys/begin", ["purpose": "agreement"])
                return try Self.assertion(authenticator, Self.bytes(challenge["challenge"]))
            }
            let opened = try await other.send("keychain/open", ["passkey": agreement()])
            #expect(opened["wrap"] as? String == wrap && opened["generation"] as? Int == 1)
            #expect(try await other.send("keychain/open", ["passkey": used]).status == 401)
            #expect(try await other.send("keychain/open", [:]).status == 400)
            #expect(
                try await other.send(
                    "keychain/rewrap",
                    ["passkey": agreement(), "generation": 1, "recoveryWrap": Self.some, "recoveryProof": Self.words]
                ).status == 200)
            #expect(try await other.send("passkeys/delete", ["id": Self.text(authenticator.id)]).status == 200)
            #expect(try await other.send("passkeys/delete", ["id": Self.text(authenticator.id)]).status == 404)
            let last = try await replay.send("passkeys/begin", ["purpose": "signIn"])
            #expect(
                try await replay.signIn(["passkey": Self.assertion(authenticator, Self.bytes(last["challenge"]))])
                    .status
                    == 401)
        }
    }

    @Test func `there are no passkeys at an address of digits, and none for pages of apps`() async throws {
        try await TestCloud.run(rounds: 1) { cloud in
            let page = Page(cloud: cloud)
            let answer = try await page.send("passkeys/begin", [:])
            #expect(answer.status == 400 && answer.body.contains("no passkeys at this address"))
            let tokens = try await cloud.signIn(lifetime: "session")
            for action in [
                "accounts/methods", "passkeys/create", "passkeys/delete", "keychain/open", "providers/unlink",
            ] {
                let answer = try await cloud.client.post(
                    "/device/1/\(TestCloud.container)/development/\(action)\(tokens.query)", "{}")
                #expect(answer.status == 403, "\(action): \(answer.body)")
            }
        }
    }

    @Test func `a person of the provider makes an account, signs in again, and nobody else comes in`() async throws {
        let provider = Provider()
        try await Self.run(provider) { cloud in
            let secret = [UInt8](repeating: 5, count: 32)
            let binding = Self.text(Array(SHA256.hash(data: secret)))
            func ticket(_ page: Page) async throws -> RawClient.Answer {
                let begun = try await page.send("providers/begin", ["binding": binding])
                #expect((begun["url"] as? String)?.hasPrefix("https://id.example.com/authorize?state=") == true)
                let state = try #require(provider.requests.withLock { $0.last?.state })
                return try await page.send(
                    "providers/finish", ["state": state, "code": "ada", "secret": Self.text(secret)])
            }
            var page = Page(cloud: cloud)
            let first = try await ticket(page)
            #expect(first["hasAccount"] as? Bool == false && first["isSignUpOpen"] as? Bool == true)
            #expect(first["email"] as? String == "ada@example.com" && first["isEmailVerified"] as? Bool == true)
            let text = try #require(first["ticket"] as? String)
            #expect(try await page.signIn(["ticket": text]).status == 404)
            #expect(try await page.send("accounts/create", ["ticket": text, "email": "eve@example.com"]).status == 200)
            let session = try await page.signIn(["ticket": text])
            #expect(session["email"] as? String == "ada@example.com" && session["keychain"] == nil)
            #expect(
                try await page.send(
                    "keychain/create", ["recoveryWrap": Self.some, "recoveryProof": Self.words, "identity": Self.some]
                ).status == 200)
            let methods = try await page.send("accounts/methods", [:])
            #expect(methods["hasPassword"] as? Bool == false && methods["provider"] as? String == "Work")
            let connection = try #require((methods["connections"] as? [[String: Any]])?.first)
            #expect(connection["issuer"] as? String == "https://id.example.com")
            #expect(try await page.send("providers/unlink", ["id": connection["id"] ?? ""]).status == 400)
            let again = try await ticket(page)
            #expect(again["hasAccount"] as? Bool == true)
            #expect(
                try await page.send("providers/link", ["ticket": again["ticket"] ?? "", "wordsProof": Self.words])
                    .status
                    == 409)
            // A word of the provider that does not hold is in the operator's log, and says nothing to the person.
            let begun = try await page.send("providers/begin", ["binding": binding])
            #expect(begun.status == 200)
            let state = try #require(provider.requests.withLock { $0.last?.state })
            let refused = try await page.send(
                "providers/finish", ["state": state, "code": "eve", "secret": Self.text(secret)])
            #expect(refused.status == 401 && !refused.body.contains("nonce"))
            let log = cloud.log.lines.map { "\($0.message) \($0.metadata)" }.joined(separator: "\n")
            #expect(log.contains("its nonce is not the expected one"))
            for secret in [text, state, Self.text(secret)] { #expect(!log.contains(secret)) }
            let answer = try await cloud.client.get("/provider?code=a&state=b")
            #expect(answer.status == 200 && answer.body.contains("/provider.js"))
            let account = try await cloud.client.get("/account")
            #expect(account.body.contains(#"data-provider="Work""#))
        }
    }

    @Test func `a closed cloud makes no account for a person of the provider, and one without a provider says so`()
        async throws
    {
        let provider = Provider()
        try await Self.run(provider, isSignUpOpen: false) { cloud in
            let page = Page(cloud: cloud)
            let secret = [UInt8](repeating: 5, count: 32)
            _ = try await page.send("providers/begin", ["binding": Self.text(Array(SHA256.hash(data: secret)))])
            let state = try #require(provider.requests.withLock { $0.last?.state })
            let answer = try await page.send(
                "providers/finish", ["state": state, "code": "ada", "secret": Self.text(secret)])
            #expect(answer["isSignUpOpen"] as? Bool == false)
            #expect(try await page.send("accounts/create", ["ticket": answer["ticket"] ?? ""]).status == 403)
            let code = try await cloud.accountStore.invitations.create(days: 1).code
            #expect(
                try await page.send("accounts/create", ["ticket": answer["ticket"] ?? "", "invitation": code]).status
                    == 200)
        }
        try await Self.run { cloud in
            let answer = try await Page(cloud: cloud).send("providers/begin", ["binding": Self.some])
            #expect(answer.status == 400 && answer.body.contains("no provider"))
        }
    }
}
