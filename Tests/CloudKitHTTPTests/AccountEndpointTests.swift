import CloudKitAccounts
import CloudKitHTTP
import CloudKitModel
import CloudKitServer
import Foundation
import Testing

/// Accounts, keychains and devices over HTTP.
@Suite(.timeLimit(.minutes(20))) struct AccountEndpointTests {
    private static let salt = Data(repeating: 9, count: 16).base64EncodedString()
    private static let otherProof = Data(repeating: 2, count: 32).base64EncodedString()

    /// A device that signed in over HTTP.
    private struct Device {
        var cloud: TestCloud
        var tokens: TestCloud.Tokens
        var id: String
        var secret: String
        var keychain: [String: Any]?

        init(_ cloud: TestCloud, _ tokens: TestCloud.Tokens, proof: String = TestCloud.proofText) async throws {
            self.cloud = cloud
            let answer = try await cloud.client.post(
                TestCloud.device("sessions/create", tokens),
                #"{"email":"ada@example.com","proof":"\#(proof)","deviceName":"Test","lifetime":"device"}"#)
            id = try #require(answer["deviceID"] as? String)
            secret = try #require(answer["deviceSecret"] as? String)
            keychain = answer["keychain"] as? [String: Any]
            self.tokens = TestCloud.Tokens(api: tokens.api, web: answer["ckWebAuthToken"] as? String)
        }

        func post(_ action: String, _ more: String = "") async throws -> RawClient.Answer {
            try await cloud.client.post(
                TestCloud.device(action, .init(api: tokens.api)),
                #"{"deviceID":"\#(id)","deviceSecret":"\#(secret)"\#(more.isEmpty ? "" : ",")\#(more)}"#)
        }

        static let offer =
            #""passwordWrap":"AQ==","recoveryWrap":"Ag==","recoveryProof":"\#(otherProof)","identity":"Aw==""#

        /// Asks for the caller in the private database, as the framework does.
        func lookUp(_ database: String = "private") async throws -> RawClient.Answer {
            try await cloud.client.post(
                TestCloud.target("records/lookup", database, tokens), #"{"records":[{"recordName":"a"}]}"#,
                headers: ["X-Welkin-Client": "sdk/1"])
        }
    }

    private static func withAda(
        rounds: Int = 1, _ body: @Sendable @escaping (TestCloud, TestCloud.Tokens) async throws -> Void
    ) async throws {
        try await TestCloud.run(rounds: rounds, cacheLifetime: 5000) { cloud in
            try await body(cloud, try await cloud.signIn())
        }
    }

    @Test func `a new user signs up, signs in, and is the only one with the address`() async throws {
        try await TestCloud.run(rounds: 10) { cloud in
            let tokens = try await cloud.apiToken()
            let body =
                #"{"email":"ada@example.com","proof":"\#(TestCloud.proofText)","salt":"\#(Self.salt)","rounds":10}"#
            let target = TestCloud.device("accounts/create", tokens)
            #expect(try await cloud.client.post(target, body).status == 200)
            let again = try await cloud.client.post(target, body, headers: ["X-Welkin-Client": "sdk/1"])
            #expect(again.status == 409)
            #expect(again["failure"] as? String == "recordExists")
            #expect(try await cloud.client.post(target, body.replacing(":10", with: ":9")).status == 400)
            _ = try await Device(cloud, tokens)
        }
    }

    @Test func `where sign-up is closed there is neither endpoint nor page`() async throws {
        try await TestCloud.run(.init(port: 0, isSignUpOpen: false)) { cloud in
            let tokens = try await cloud.apiToken()
            let body =
                #"{"email":"a@b","proof":"\#(TestCloud.proofText)","salt":"\#(Self.salt)","rounds":600000}"#
            let answer = try await cloud.client.post(TestCloud.device("accounts/create", tokens), body)
            #expect(answer.status == 403)
            #expect(answer["reason"] as? String == "sign-up is closed")
            let query = "?container=\(TestCloud.container)&environment=development&ckAPIToken=\(tokens.api)"
            #expect(try await cloud.client.get("/sign-up" + query).status == 403)
            #expect(try await cloud.client.get("/sign-in" + query).body.contains("/sign-up") == false)
        }
    }

    @Test func `where sign-up is closed, an invitation makes an account, from its page as well`() async throws {
        try await TestCloud.run(.init(port: 0, isSignUpOpen: false), rounds: 10) { cloud in
            let tokens = try await cloud.apiToken()
            let made = try await cloud.accountStore.invitations.create(uses: 2, days: 1)
            func create(_ email: String, _ code: String, at target: String) async throws -> RawClient.Answer {
                try await cloud.client.post(
                    target,
                    #"{"email":"\#(email)","proof":"\#(TestCloud.proofText)","salt":"\#(Self.salt)","rounds":10,"invitation":"\#(code)"}"#
                )
            }
            let target = TestCloud.device("accounts/create", tokens)
            let wrong = try await create("ada@example.com", String(repeating: "0", count: 32), at: target)
            #expect(wrong.status == 403 && wrong["serverErrorCode"] as? String == "ACCESS_DENIED")
            #expect(wrong["reason"] as? String == "the invitation is not valid")
            #expect(try await create("ada@example.com", made.code, at: target).status == 200)
            _ = try await Device(cloud, tokens)
            // The page has no code: it is behind the `#` of the link.
            let page = try await cloud.client.get("/invitation")
            #expect(page.status == 200 && page.body.contains(#"data-invited="true""#))
            #expect(page.body.contains(#"data-rounds="10""#))
            let token = try #require(page.body.firstMatch(of: /data-token="([0-9a-f]{64})"/)?.1)
            let own = "/device/1/welkin.account/production/accounts/create?ckAPIToken=\(token)"
            #expect(try await create("ben@example.com", made.code, at: own).status == 200)
            #expect(try await create("eve@example.com", made.code, at: own).status == 403)
            #expect(
                !cloud.log.lines.contains { line in
                    line.message.contains(made.code) || line.metadata.values.contains { $0.contains(made.code) }
                })
        }
    }

    @Test func `the two pages lead to each other`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.apiToken()
            let query = "?container=\(TestCloud.container)&environment=development&ckAPIToken=\(tokens.api)"
            let signIn = try await cloud.client.get("/sign-in" + query)
            #expect(signIn.body.contains(#"href="/sign-up\#(query.replacing("&", with: "&amp;"))""#))
            let signUp = try await cloud.client.get("/sign-up" + query)
            #expect(signUp.status == 200)
            #expect(signUp.body.contains(#"href="/sign-in\#(query.replacing("&", with: "&amp;"))""#))
            #expect(signUp.body.contains(#"data-rounds="600000""#))
            #expect(try await cloud.client.get("/sign-up").status == 400)
        }
    }

    @Test func `a keychain is made once and comes with the next sign-in`() async throws {
        try await Self.withAda { cloud, tokens in
            let first = try await Device(cloud, tokens)
            #expect(first.keychain == nil)
            #expect(try await first.post("keychain/get")["exists"] as? Bool == false)
            #expect(try await first.post("keychain/create", Device.offer)["generation"] as? Int == 1)
            #expect(try await first.post("keychain/create", Device.offer).status == 409)
            let second = try await Device(cloud, tokens)
            #expect(second.keychain?["passwordWrap"] as? String == "AQ==")
            #expect(second.keychain?["generation"] as? Int == 1)
            let status = try await second.post("keychain/get")
            #expect(status["identity"] as? String == "Aw==")
            #expect(status["isOutdated"] as? Bool == false)
        }
    }

    @Test func `a password changes by the old one, and the words recover the account`() async throws {
        try await Self.withAda { cloud, tokens in
            let device = try await Device(cloud, tokens)
            _ = try await device.post("keychain/create", Device.offer)
            let password =
                #""newProof":"\#(Self.otherProof)","salt":"\#(Self.salt)","rounds":2,"generation":1,"passwordWrap":"Bw==""#
            #expect(try await device.post("accounts/password", #""proof":"AAAA",\#(password)"#).status == 401)
            #expect(
                try await device.post("accounts/password", #""proof":"\#(TestCloud.proofText)",\#(password)"#).status
                    == 200)
            #expect(try await device.lookUp().status == 200)
            #expect(
                try await Device(cloud, tokens, proof: Self.otherProof).keychain?["passwordWrap"] as? String == "Bw==")
            let words = #""email":"ada@example.com","recoveryProof":"\#(Self.otherProof)""#
            let recovery = try await cloud.client.post(TestCloud.device("keychain/recovery", tokens), "{\(words)}")
            #expect(recovery["recoveryWrap"] as? String == "Ag==")
            let recovered = try await cloud.client.post(
                TestCloud.device("keychain/recover", tokens),
                "{\(words),"
                    + #""newProof":"\#(TestCloud.proofText)","salt":"\#(Self.salt)","rounds":2,"generation":1,"#
                    + #""passwordWrap":"CA=="}"#)
            #expect(recovered.status == 200)
            #expect(try await Device(cloud, tokens).keychain?["passwordWrap"] as? String == "CA==")
            let wrong = try await cloud.client.post(
                TestCloud.device("keychain/recovery", tokens),
                #"{"email":"ada@example.com","recoveryProof":"\#(TestCloud.proofText)"}"#)
            #expect(wrong.status == 401)
        }
    }

    @Test func `B-ACC-02 a reset shuts other devices out of private data at once, and of public data never`()
        async throws
    {
        try await Self.withAda { cloud, tokens in
            let first = try await Device(cloud, tokens)
            _ = try await first.post("keychain/create", Device.offer)
            let second = try await Device(cloud, tokens)
            #expect(try await first.lookUp().status == 200)
            let reset = try await second.post(
                "keychain/reset", #""proof":"\#(TestCloud.proofText)","generation":1,\#(Device.offer)"#)
            #expect(reset["generation"] as? Int == 2)
            // The cloud remembers what it knew of tokens for five seconds, and forgot this.
            let refused = try await first.lookUp()
            #expect(refused.status == 401)
            #expect(refused["failure"] as? String == "accountTemporarilyUnavailable")
            #expect(refused["nativeCode"] as? Int == 36)
            #expect(try await first.lookUp("public").status == 200)
            // The one that sent the reset may not have got the answer: it has to sign in again, too.
            let sender = try await second.lookUp()
            #expect(sender["failure"] as? String == "accountTemporarilyUnavailable")
            #expect(try await Device(cloud, tokens).lookUp().status == 200)
        }
    }

    @Test func `devices are listed, and a revoked one is out at once`() async throws {
        try await Self.withAda { cloud, tokens in
            let first = try await Device(cloud, tokens)
            let second = try await Device(cloud, tokens)
            #expect(try await second.lookUp().status == 200)
            let list = try #require(try await first.post("devices/list")["devices"] as? [[String: Any]])
            #expect(list.count == 3)
            #expect(list.filter { $0["isCaller"] as? Bool == true }.map { $0["deviceID"] as? String } == [first.id])
            #expect(list.allSatisfy { $0["deviceSecret"] == nil && $0["secretHash"] == nil })
            #expect(try await first.post("devices/revoke", #""revoke":"\#(second.id)""#).status == 200)
            #expect(try await second.lookUp().status == 421)
            #expect(try await second.post("devices/list").status == 401)
            #expect(try await first.post("devices/revoke", #""revoke":"\#(second.id)""#).status == 404)
        }
    }

    @Test func `an account that its owner deletes is out at once, and back by a sign-in that says so`() async throws {
        try await Self.withAda { cloud, tokens in
            let device = try await Device(cloud, tokens)
            #expect(try await device.lookUp().status == 200)
            let question = try await device.post("accounts/delete")
            #expect(question["graceSeconds"] as? Int == 2_592_000 && question["due"] == nil)
            let wrong = try await device.post("accounts/delete", #""proof":"\#(Self.otherProof)""#)
            #expect(wrong.status == 401)
            let answer = try await device.post("accounts/delete", #""proof":"\#(TestCloud.proofText)""#)
            #expect(answer.status == 200 && answer["due"] as? Int64 == cloud.clock.now + 2_592_000_000)
            // The cloud remembers what it knew of tokens for five seconds, and forgot this.
            #expect(try await device.lookUp().status == 421)
            #expect(try await device.post("devices/list").status == 401)
            let body = #""email":"ada@example.com","proof":"\#(TestCloud.proofText)","lifetime":"session""#
            let target = TestCloud.device("sessions/create", .init(api: tokens.api))
            let refused = try await cloud.client.post(target, "{\(body)}", headers: ["X-Welkin-Client": "sdk/1"])
            #expect(refused["failure"] as? String == "accountRestricted")
            #expect(try await cloud.client.post(target, #"{\#(body),"keepsAccount":true}"#).status == 200)
            #expect(try await cloud.client.post(target, "{\(body)}").status == 200)
        }
    }

    @Test func `devices are named by their owner`() async throws {
        try await Self.withAda { cloud, tokens in
            let first = try await Device(cloud, tokens)
            let second = try await Device(cloud, tokens)
            func names() async throws -> [String?] {
                let list = try await first.post("devices/list")["devices"] as? [[String: Any]] ?? []
                return list.filter { $0["deviceID"] as? String == second.id }.map { $0["name"] as? String }
            }
            let start = second.id.prefix(12)
            #expect(try await first.post("devices/rename", #""rename":"\#(start)","name":"Küche 🍳""#).status == 200)
            #expect(try await names() == ["Küche 🍳"])
            for bad in ["", String(repeating: "x", count: 101)] {
                #expect(try await first.post("devices/rename", #""rename":"\#(start)","name":"\#(bad)""#).status == 400)
            }
            #expect(try await first.post("devices/rename", #""rename":"\#(start)""#).status == 400)
            #expect(try await first.post("devices/rename", #""rename":"zz","name":"x""#).status == 404)
            #expect(try await first.post("devices/rename", #""rename":"","name":"x""#).status == 404)
            #expect(try await names() == ["Küche 🍳"])
        }
    }

    @Test func `public identities are for users of the container`() async throws {
        try await Self.withAda { cloud, tokens in
            let device = try await Device(cloud, tokens)
            _ = try await device.post("keychain/create", Device.offer)
            let me = try await cloud.client.get(TestCloud.target("users/caller", "private", device.tokens))
            let name = try #require(me["userRecordName"] as? String)
            let body = #"{"userRecordNames":["\#(name)","_nobody"]}"#
            let signedIn = "/device/1/\(TestCloud.container)/development/identities/lookup\(device.tokens.query)"
            let found = try await cloud.client.post(signedIn, body)
            #expect(found["identities", "0", "identity"] as? String == "Aw==")
            #expect((found["identities"] as? [Any])?.count == 1)
            #expect(
                try await cloud.client.post(TestCloud.device("identities/lookup", .init(api: tokens.api)), body).status
                    == 421)
        }
    }

    @Test func `a browser gets the wrapped keys when it asks, until the account's owner forbids it`() async throws {
        try await Self.withAda { cloud, tokens in
            let phone = try await Device(cloud, tokens)
            #expect(try await phone.post("keychain/create", Device.offer).status == 200)
            func browser(_ more: String) async throws -> RawClient.Answer {
                try await cloud.client.post(
                    TestCloud.device("sessions/create", .init(api: tokens.api)),
                    #"{"email":"ada@example.com","proof":"\#(TestCloud.proofText)","deviceName":"Browser"\#(more)}"#)
            }
            let plain = try await browser("")
            #expect(plain.status == 200)
            #expect(plain["keychain"] == nil)
            let keyed = try await browser(#","wantsKeychain":true"#)
            #expect(keyed["keychain", "passwordWrap"] as? String == "AQ==")
            #expect(keyed["deviceSecret"] == nil)
            #expect(try await phone.post("accounts/webKeys")["allowsWebKeys"] as? Bool == true)

            #expect(try await phone.post("accounts/webKeys", #""allowsWebKeys":false"#).status == 200)
            #expect(try await phone.post("accounts/webKeys")["allowsWebKeys"] as? Bool == false)
            func zones(_ answer: RawClient.Answer) async throws -> Int {
                let web = TestCloud.Tokens(api: tokens.api, web: answer["ckWebAuthToken"] as? String)
                return try await cloud.client.get(TestCloud.target("zones/list", "private", web)).status
            }
            // The browser that has the keys is signed out, one without them is not.
            #expect(try await zones(keyed) == 421)
            #expect(try await zones(plain) == 200)
            let withheld = try await browser(#","wantsKeychain":true"#)
            #expect(withheld.status == 200)
            #expect(withheld["keychain"] == nil)
            #expect(withheld["withholdsKeychain"] as? Bool == true)
        }
    }

    @Test func `a browser with keys that were reset since has to sign in again`() async throws {
        try await Self.withAda { cloud, tokens in
            let phone = try await Device(cloud, tokens)
            #expect(try await phone.post("keychain/create", Device.offer).status == 200)
            let browser = try await cloud.client.post(
                TestCloud.device("sessions/create", .init(api: tokens.api)),
                #"{"email":"ada@example.com","proof":"\#(TestCloud.proofText)","wantsKeychain":true}"#)
            let more = #""proof":"\#(TestCloud.proofText)","generation":1,"# + Device.offer
            #expect(try await phone.post("keychain/reset", more).status == 200)
            let web = TestCloud.Tokens(api: tokens.api, web: browser["ckWebAuthToken"] as? String)
            #expect(try await cloud.client.get(TestCloud.target("zones/list", "private", web)).status != 200)
        }
    }

    @Test func `a browser ends its own session`() async throws {
        try await Self.withAda { cloud, tokens in
            let zones = TestCloud.target("zones/list", "private", tokens)
            let before = try await cloud.client.get(zones)
            #expect(before.status == 200)
            let own = "/device/1/\(TestCloud.container)/development/sessions/delete" + tokens.query
            let ended = try await cloud.client.post(own, "{}")
            #expect(ended.status == 200)
            let after = try await cloud.client.get(zones)
            #expect(after.status == 421)
            let stranger = TestCloud.device("sessions/delete", .init(api: tokens.api))
            let refused = try await cloud.client.post(stranger, "{}")
            #expect(refused.status == 421)
        }
    }

    @Test(arguments: ["{", "{}", #"{"deviceID":"a","deviceSecret":"!"}"#, "[]"])
    func `an invalid body of these endpoints is a bad request`(body: String) async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.apiToken()
            for action in [
                "accounts/create", "accounts/password", "keychain/get", "keychain/create", "keychain/rewrap",
                "keychain/reset", "keychain/recovery", "keychain/recover", "devices/list", "devices/revoke",
                "devices/rename", "accounts/webKeys", "accounts/delete",
            ] {
                #expect(try await cloud.client.post(TestCloud.device(action, tokens), body).status == 400)
            }
        }
    }
}
