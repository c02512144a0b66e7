import CloudKitAccounts
import CloudKitHTTP
import CloudKitModel
import Foundation
import Synchronization
import Testing

/// `accounts/address` over HTTP: links that are mailed, and shares by address.
@Suite(.timeLimit(.minutes(20))) struct AddressEndpointTests {
    /// Takes mails, or fails.
    private final class Mailbox: MailDelivery {
        private let mails = Mutex<[AccountMail]>([])
        private let isBroken = Mutex(false)

        struct Broken: Error, CustomStringConvertible {
            var description: String { "the mail server took no message" }
        }

        var taken: [AccountMail] { mails.withLock { $0 } }

        func breakDown(_ breaks: Bool = true) { isBroken.withLock { $0 = breaks } }

        func send(_ mail: AccountMail) async throws {
            if isBroken.withLock({ $0 }) { throw Broken() }
            mails.withLock { $0.append(mail) }
        }

        /// The code of the link in the last mail.
        func code() throws -> String {
            let mail = try #require(taken.last)
            return String(try #require(mail.text.firstMatch(of: /\/address#([0-9a-f]{32})/)?.1))
        }
    }

    private static let publicURL = "https://cloud.example.com"

    private static func run(
        _ mail: Mailbox?, publicURL: String? = publicURL,
        _ body: @Sendable @escaping (TestCloud, TestCloud.Tokens) async throws -> Void
    ) async throws {
        try await TestCloud.run(.init(port: 0, publicURL: publicURL), rounds: 10, mail: mail) { cloud in
            try await body(cloud, try await cloud.apiToken())
        }
    }

    private static func signUp(
        _ cloud: TestCloud, _ tokens: TestCloud.Tokens, _ email: String, headers: [String: String] = [:]
    ) async throws -> RawClient.Answer {
        let salt = Data(repeating: 9, count: 16).base64EncodedString()
        return try await cloud.client.post(
            TestCloud.device("accounts/create", tokens),
            #"{"email":"\#(email)","proof":"\#(TestCloud.proofText)","salt":"\#(salt)","rounds":10}"#, headers: headers)
    }

    /// Signs a device in, and returns the fields by which it authenticates itself.
    private static func device(
        _ cloud: TestCloud, _ tokens: TestCloud.Tokens, _ email: String
    ) async throws -> (fields: String, web: TestCloud.Tokens) {
        let answer = try await cloud.client.post(
            TestCloud.sessions("create", tokens),
            #"{"email":"\#(email)","proof":"\#(TestCloud.proofText)","deviceName":"Test","lifetime":"device"}"#)
        let id = try #require(answer["deviceID"] as? String)
        let secret = try #require(answer["deviceSecret"] as? String)
        return (
            #""deviceID":"\#(id)","deviceSecret":"\#(secret)""#,
            TestCloud.Tokens(api: tokens.api, web: answer["ckWebAuthToken"] as? String)
        )
    }

    private static func address(
        _ cloud: TestCloud, _ tokens: TestCloud.Tokens, _ body: String
    ) async throws -> RawClient.Answer {
        try await cloud.client.post(
            TestCloud.device("accounts/address", TestCloud.Tokens(api: tokens.api)), "{\(body)}")
    }

    /// Whether a share would find the account of an address.
    private static func finds(
        _ email: String, _ cloud: TestCloud, as tokens: TestCloud.Tokens
    ) async throws -> Bool {
        let answer = try await cloud.client.post(
            TestCloud.target("users/lookup/participants", "public", tokens),
            #"{"lookupInfos":[{"emailAddress":"\#(email)"}]}"#, headers: ["X-Welkin-Client": "sdk/1"])
        #expect(answer.status == 200, "\(answer.body)")
        return answer["participants", "0", "userIdentity", "userRecordName"] is String
    }

    @Test func `B-PRT-05 a new account is found by its address once the mailed link was opened`() async throws {
        let mailbox = Mailbox()
        try await Self.run(mailbox) { cloud, tokens in
            // The link leads to the cloud's own address, whatever the request names.
            let made = try await Self.signUp(
                cloud, tokens, "ada@example.com", headers: ["X-Forwarded-Host": "evil.example"])
            #expect(made.status == 200)
            #expect(mailbox.taken.map(\.receiver) == ["ada@example.com"])
            #expect(mailbox.taken[0].text.contains("\(Self.publicURL)/address#"))
            #expect(!mailbox.taken[0].text.contains("evil"))
            _ = try await Self.signUp(cloud, tokens, "ben@example.com")
            let (ada, _) = try await Self.device(cloud, tokens, "ada@example.com")
            let (_, ben) = try await Self.device(cloud, tokens, "ben@example.com")
            let before = try await Self.address(cloud, tokens, ada)
            #expect(before["isProved"] as? Bool == false && before["isRequired"] as? Bool == true)
            #expect(try await !Self.finds("ada@example.com", cloud, as: ben))

            let soon = try await Self.address(cloud, tokens, ada + #","sendsLink":true"#)
            #expect(soon.status == 429 && soon["retryAfter"] as? Double == 60)
            cloud.clock.advance(60_000)
            #expect(try await Self.address(cloud, tokens, ada + #","sendsLink":true"#).status == 200)
            #expect(mailbox.taken.count == 3)
            let code = try mailbox.code()
            let wrong = try await Self.address(cloud, tokens, #""code":"\#(String(repeating: "0", count: 32))""#)
            #expect(wrong.status == 403 && wrong["reason"] as? String == "the link is not valid")
            let page = try await cloud.client.get("/address")
            let token = String(try #require(page.body.firstMatch(of: /data-token="([0-9a-f]{64})"/)?.1))
            let proved = try await cloud.client.post(
                "/device/1/welkin.account/production/accounts/address?ckAPIToken=\(token)", #"{"code":"\#(code)"}"#)
            #expect(proved.status == 200 && proved["email"] as? String == "ada@example.com", "\(proved.body)")
            #expect(proved["isProved"] as? Bool == true)
            #expect(try await Self.finds("ada@example.com", cloud, as: ben))
            let again = try await Self.address(cloud, tokens, ada + #","sendsLink":true"#)
            #expect(again["isProved"] as? Bool == true && mailbox.taken.count == 3)
            // Nothing of the mails is in the log.
            for line in cloud.log.lines {
                let text = line.message + line.metadata.values.joined(separator: " ")
                #expect(!text.contains(code) && !text.contains("ada@example.com"), "\(text)")
            }
        }
    }

    @Test func `a mail that does not leave is reported, and keeps nobody from signing up`() async throws {
        let mailbox = Mailbox()
        mailbox.breakDown()
        try await Self.run(mailbox) { cloud, tokens in
            #expect(try await Self.signUp(cloud, tokens, "ada@example.com").status == 200)
            #expect(cloud.log.lines.contains { $0.message == "a mail was not sent" })
            let (ada, _) = try await Self.device(cloud, tokens, "ada@example.com")
            cloud.clock.advance(60_000)
            let refused = try await Self.address(cloud, tokens, ada + #","sendsLink":true"#)
            #expect(refused.status == 503 && refused["reason"] as? String == "the mail was not sent", "\(refused.body)")
            mailbox.breakDown(false)
            cloud.clock.advance(60_000)
            #expect(try await Self.address(cloud, tokens, ada + #","sendsLink":true"#).status == 200)
            #expect(mailbox.taken.count == 1)
        }
    }

    @Test func `B-PRT-05 without mail, or without an address for links, addresses count as they are`() async throws {
        let mailbox = Mailbox()
        for (mail, url) in [(nil, Self.publicURL), (mailbox, nil)] as [(Mailbox?, String?)] {
            try await Self.run(mail, publicURL: url) { cloud, tokens in
                _ = try await Self.signUp(cloud, tokens, "ada@example.com")
                _ = try await Self.signUp(cloud, tokens, "ben@example.com")
                let (ada, _) = try await Self.device(cloud, tokens, "ada@example.com")
                let (_, ben) = try await Self.device(cloud, tokens, "ben@example.com")
                let state = try await Self.address(cloud, tokens, ada)
                #expect(state["isProved"] as? Bool == false && state["isRequired"] as? Bool == false)
                let refused = try await Self.address(cloud, tokens, ada + #","sendsLink":true"#)
                #expect(refused.status == 400 && refused["reason"] as? String == "this cloud sends no mail")
                #expect(try await Self.finds("ada@example.com", cloud, as: ben))
            }
        }
        #expect(mailbox.taken.isEmpty)
    }
}
