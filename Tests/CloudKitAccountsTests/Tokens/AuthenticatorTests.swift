import CloudKitModel
import Testing

@testable import CloudKitAccounts

/// Admission of requests, and the user as whom they run (docs/web-services.md §2.1, §2.2).
@Suite(.timeLimit(.minutes(20))) struct AuthenticatorTests {
    let people = TestAccounts()

    /// Ada's tokens for the test container in development.
    private func signedIn(
        lifetime: SessionLifetime = .session
    ) async throws -> (api: String, web: String, grant: DeviceSignIn.Grant) {
        try await people.addAda()
        let (place, token) = try await people.place()
        let grant = try await people.signIn.create(
            email: "ada@example.com", proof: TestAccounts.proof, deviceName: "", lifetime: lifetime, place: place,
            address: "")
        return (token, grant.webAuthToken, grant)
    }

    private func admit(
        _ api: String?, _ web: String? = nil, container: String = "iCloud.com.example.app",
        environment: Environment = .development, origin: String? = nil, by authenticator: Authenticator? = nil
    ) async throws -> AuthenticatedCaller {
        try await (authenticator ?? people.authenticator()).admit(
            RequestCredentials(apiToken: api, webAuthToken: web, origin: origin), container: .init(container),
            environment: environment, target: "/"
        ) { [] }
    }

    private func refuses(
        as code: RequestFailure.Code = .authenticationFailed, _ body: () async throws -> AuthenticatedCaller
    ) async {
        let failure = await #expect(throws: RequestFailure.self) { try await body() }
        #expect(failure?.code == code)
    }

    @Test func `an API token alone names no user`() async throws {
        let (api, _, _) = try await signedIn()
        let admission = try await admit(api)
        #expect(admission.user == nil)
        #expect(admission.nextWebAuthToken == nil)
    }

    @Test func `both tokens are the user, and the next web token comes along`() async throws {
        let (api, web, grant) = try await signedIn()
        people.clock.advance(60_000)
        let admission = try await admit(api, web)
        #expect(admission.user == grant.user)
        let next = try #require(admission.nextWebAuthToken)
        #expect(next != web)
        #expect(try await admit(api, next).user == grant.user)
        #expect(try await admit(api, web).user == grant.user)
    }

    @Test func `a device is another one in every container, and not the one of the sign-in`() async throws {
        let (api, web, grant) = try await signedIn(lifetime: .device)
        let (other, otherToken) = try await people.place("iCloud.other")
        let further = try await people.signIn.resume(
            DeviceKey(id: grant.deviceID, secret: try #require(grant.deviceSecret)), place: other)
        let first = try #require(try await admit(api, web).deviceID)
        let second = try #require(
            try await admit(otherToken, further.webAuthToken, container: "iCloud.other").deviceID)
        #expect(try await admit(api, web).deviceID == first)
        #expect(Set([first, second, grant.deviceID]).count == 3)
    }

    @Test func `a web token lives half an hour, and as long as it is replaced in time`() async throws {
        let (api, web, grant) = try await signedIn()
        people.clock.advance(29 * 60_000)
        let next = try #require(try await admit(api, web).nextWebAuthToken)
        people.clock.advance(60_000)
        let over = try await admit(api, web)
        #expect(over.user == nil)
        #expect(try await admit(api, next).user == grant.user)
    }

    @Test func `nothing, or a wrong API token, is refused`() async throws {
        let (api, web, _) = try await signedIn()
        await refuses(as: .unknownAPIToken) { try await admit(nil) }
        await refuses(as: .unknownAPIToken) { try await admit(nil, web) }
        await refuses(as: .unknownAPIToken) { try await admit("") }
        await refuses(as: .unknownAPIToken) { try await admit(String(api.dropLast())) }
        await refuses(as: .unknownAPIToken) { try await admit(String(repeating: "0", count: 64), web) }
    }

    @Test func `tokens are good in their container and environment only`() async throws {
        let (api, web, _) = try await signedIn()
        let (_, other) = try await people.place("iCloud.other")
        let (_, production) = try await people.place("iCloud.com.example.app", .production)
        await refuses(as: .unknownAPIToken) { try await admit(api, web, container: "iCloud.other") }
        await refuses(as: .unknownAPIToken) { try await admit(api, web, environment: .production) }
        await refuses { try await admit(other, web, container: "iCloud.other") }
        await refuses { try await admit(production, web, environment: .production) }
    }

    @Test func `a web token is valid with the API token of its sign-in only`() async throws {
        let (_, web, _) = try await signedIn()
        let (_, second) = try await people.place()
        await refuses { try await admit(second, web) }
    }

    @Test func `a forged web token is refused, whichever letter was changed`() async throws {
        let (api, web, _) = try await signedIn()
        for index in web.indices {
            var forged = web
            forged.replaceSubrange(index...index, with: web[index] == "A" ? "B" : "A")
            await refuses { try await admit(api, forged) }
        }
        await refuses { try await admit(api, "") }
        await refuses { try await admit(api, "147__54__AAAA") }
    }

    @Test func `a revoked API token, an ended session and a disabled account admit no request`() async throws {
        let (api, web, grant) = try await signedIn(lifetime: .device)
        try await people.accounts.setDisabled(true, email: "ada@example.com")
        await expect(.accountRestricted) { _ = try await admit(api, web) }
        try await people.accounts.setDisabled(false, email: "ada@example.com")
        try await people.signIn.end(DeviceKey(id: grant.deviceID, secret: try #require(grant.deviceSecret)))
        #expect(try await admit(api, web).user == nil)
        #expect(try await people.tokens.revoke(api).count == 1)
        await refuses(as: .unknownAPIToken) { try await admit(api) }
    }

    @Test func `answers of the store are cached for a limited time`() async throws {
        let (api, web, grant) = try await signedIn()
        let authenticator = people.authenticator(cacheLifetime: 5000)
        #expect(try await admit(api, web, by: authenticator).user == grant.user)
        _ = try await people.tokens.revoke(api)
        people.clock.advance(4999)
        #expect(try await admit(api, web, by: authenticator).user == grant.user)
        people.clock.advance(1)
        await refuses(as: .unknownAPIToken) { try await admit(api, web, by: authenticator) }
    }

    @Test func `a session is current until it ends, expires, or its account cannot be used`() async throws {
        let (_, _, grant) = try await signedIn(lifetime: .device)
        let authenticator = people.authenticator()
        #expect(try await authenticator.isCurrent(sessionID: grant.deviceID))
        #expect(try await !authenticator.isCurrent(sessionID: "none"))
        try await people.accounts.setDisabled(true, email: "ada@example.com")
        #expect(try await !authenticator.isCurrent(sessionID: grant.deviceID))
        try await people.accounts.setDisabled(false, email: "ada@example.com")
        #expect(try await authenticator.isCurrent(sessionID: grant.deviceID))
        try await people.signIn.end(DeviceKey(id: grant.deviceID, secret: try #require(grant.deviceSecret)))
        #expect(try await !authenticator.isCurrent(sessionID: grant.deviceID))
    }

    @Test func `a damaged session or account is an error, not a session that has ended`() async throws {
        let (_, _, grant) = try await signedIn(lifetime: .device)
        let authenticator = people.authenticator()
        let account = try #require(try await people.store.sessions.session(grant.deviceID)?.account)
        let session = DeviceSession.table.stored(DeviceSession.key(grant.deviceID, of: account))
        for (key, damaged) in [
            (session, #"{"account":"\#(account)","expires":null}"#), (session, "{"),
            (Account.table.stored(account), #"{"isDisabled":1}"#),
        ] {
            let stored = try #require(try await people.store.read { try await $0.get(key) })
            try await people.store.write { $0.set(key, Array(damaged.utf8)) }
            await #expect(throws: (any Error).self) { try await authenticator.isCurrent(sessionID: grant.deviceID) }
            try await people.store.write { $0.set(key, stored) }
            #expect(try await authenticator.isCurrent(sessionID: grant.deviceID))
        }
    }

    @Test func `whether a session is current is cached, until it is forgotten or the session is over`() async throws {
        let (_, _, grant) = try await signedIn(lifetime: .device)
        let authenticator = people.authenticator(cacheLifetime: 5000)
        #expect(try await authenticator.isCurrent(sessionID: grant.deviceID))
        let account = try #require(try await people.store.sessions.session(grant.deviceID)?.account)
        try await people.signIn.end(DeviceKey(id: grant.deviceID, secret: try #require(grant.deviceSecret)))
        people.clock.advance(4999)
        #expect(try await authenticator.isCurrent(sessionID: grant.deviceID))
        authenticator.forget(account: "another")
        #expect(try await authenticator.isCurrent(sessionID: grant.deviceID))
        authenticator.forget(account: account)
        #expect(try await !authenticator.isCurrent(sessionID: grant.deviceID))
    }

    @Test func `a session that is known ends in time`() async throws {
        let (_, _, grant) = try await signedIn(lifetime: .session)
        let authenticator = people.authenticator(cacheLifetime: 1 << 50)
        #expect(try await authenticator.isCurrent(sessionID: grant.deviceID))
        people.clock.advance(SessionLifetime.session.milliseconds)
        #expect(try await !authenticator.isCurrent(sessionID: grant.deviceID))
    }

    @Test func `a token with origins serves pages of these, and callers that are no pages`() async throws {
        let (token, _) = try await people.tokens.create(
            container: people.container, environment: .development, name: "",
            allowedOrigins: ["https://app.example.com"])
        #expect(try await admit(token, origin: "https://app.example.com").apiToken != nil)
        #expect(try await admit(token).apiToken != nil)
        await refuses { try await admit(token, origin: "https://evil.example.com") }
    }

    @Test func `tokens are kept as hashes`() async throws {
        let (api, _, grant) = try await signedIn(lifetime: .device)
        let secret = try #require(grant.deviceSecret)
        for entry in try await ["account/", "api-token/", "session", "email/", "user/"].asyncFlatMap(
            people.entries)
        {
            #expect(!entry.key.contains(api))
            let text = String(decoding: entry.value, as: UTF8.self)
            #expect(!text.contains(api))
            #expect(!text.contains(secret.map(String.init).joined(separator: ",")))
        }
    }
}

extension Array {
    fileprivate func asyncFlatMap<Result>(_ body: (Element) async throws -> [Result]) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results += try await body(element) }
        return results
    }
}
