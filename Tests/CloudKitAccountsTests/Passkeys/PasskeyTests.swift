import CloudKitModel
import SimulatedSigners
import Testing
import WebCredentials

@testable import CloudKitAccounts

/// Passkeys of accounts: made after a proof, used for sign-ins and agreements.
@Suite(.timeLimit(.minutes(20))) struct PasskeyTests {
    let people = TestAccounts()
    private let limiter = ProofLimiter(roundsMin: 1)

    private var passkeys: Passkeys { people.store.passkeys(limiter) }
    private var keychains: Keychains { people.store.keychains(limiter) }
    private var party: RelyingParty { get throws { try #require(RelyingParty(url: "https://cloud.example.com")) } }

    private func browser(_ email: String = "ada@example.com") async throws -> AccountSender {
        if try await people.accounts.account(email: email) == nil {
            _ = try await people.accounts.add(
                email: email, name: "Ada", proof: TestAccounts.proof,
                derivation: people.accounts.newDerivation(rounds: 1))
        }
        let (place, _) = try await people.place()
        let grant = try await people.signIn.create(
            email: email, proof: TestAccounts.proof, deviceName: "Page", lifetime: .session, place: place, address: "")
        return .browser(session: grant.deviceID)
    }

    private func addition(
        _ authenticator: SimulatedAuthenticator, _ challenge: [UInt8], wrap: [UInt8]? = nil, generation: Int? = nil
    ) throws -> Passkeys.Addition {
        let made = try authenticator.register(challenge)
        return Passkeys.Addition(
            name: "Key", ceremony: PasskeyCeremony(clientData: made.clientData, party: try party),
            attestation: made.attestation, wrap: wrap, generation: generation)
    }

    private func assertion(
        _ authenticator: SimulatedAuthenticator, _ challenge: [UInt8], handle: [UInt8]? = nil
    ) throws -> PasskeyAssertion {
        let used = try authenticator.use(challenge)
        return PasskeyAssertion(
            id: authenticator.id, ceremony: PasskeyCeremony(clientData: used.clientData, party: try party),
            authenticatorData: used.authenticatorData, signature: used.signature, userHandle: handle)
    }

    /// Adds a passkey to Ada's account.
    @discardableResult
    private func add(
        _ authenticator: SimulatedAuthenticator, by sender: AccountSender, proof: [UInt8] = TestAccounts.proof,
        wrap: [UInt8]? = nil, generation: Int? = nil
    ) async throws -> Passkey {
        let challenge = try await passkeys.begin(isNew: true, by: sender).challenge
        return try await passkeys.add(
            addition(authenticator, challenge, wrap: wrap, generation: generation), proof: .password(proof), by: sender,
            address: "")
    }

    /// Signs in, from a network address of its own for each line of these tests: few failures slow down the next attempt.
    private func signIn(_ assertion: PasskeyAssertion, line: Int = #line) async throws -> DeviceSignIn.Grant {
        let (place, _) = try await people.place()
        return try await DeviceSignIn(store: people.store, proofGuard: limiter).create(
            DeviceSignIn.Opening(
                deviceName: "Browser", lifetime: .session, place: place, address: "10.0.\(line / 250).\(line % 250)",
                wantsKeychain: true),
            passkey: assertion)
    }

    private func authenticator(_ kind: SigningKey.Kind = .es256, mark: UInt8 = 1) throws -> SimulatedAuthenticator {
        var made = SimulatedAuthenticator(key: try .key(kind, mark: mark))
        made.id = [UInt8](repeating: mark, count: 20)
        return made
    }

    private static let offer = KeychainUpload(
        passwordWrap: [1], recovery: RecoveryUpload(wrap: [2], proof: [UInt8](repeating: 4, count: 32)), identity: [3])

    @Test(arguments: SigningKey.Kind.allCases)
    func `a passkey signs in, and brings the secret that it wraps`(_ kind: SigningKey.Kind) async throws {
        let page = try await browser()
        let generation = try await keychains.create(Self.offer, by: page)
        let authenticator = try authenticator(kind)
        let made = try await add(authenticator, by: page, wrap: [7, 7], generation: generation)
        #expect(made.name == "Key")
        let beginning = try await passkeys.begin(isNew: true, by: page)
        #expect(beginning.known.map(\.id) == [authenticator.id])
        let grant = try await signIn(
            assertion(authenticator, passkeys.beginSignIn().challenge, handle: beginning.userHandle))
        #expect(grant.email == "ada@example.com")
        #expect(grant.passkeyWrap == [7, 7])
        #expect(grant.keychain?.generation == generation)
        let account = try #require(try await people.accounts.account(email: "ada@example.com"))
        let listed = try #require(try await passkeys.list(ofAccount: account.id).first)
        #expect(listed.used != nil && listed.opensKeys(of: account))
        // Keys that were replaced are not those that it wraps.
        try await keychains.reset(email: "ada@example.com")
        let later = try await signIn(assertion(authenticator, passkeys.beginSignIn().challenge))
        #expect(later.passkeyWrap == nil && later.keychain == nil)
    }

    @Test func `a passkey without a wrap signs in and opens nothing; a person may forbid browsers the keys`()
        async throws
    {
        let page = try await browser()
        let generation = try await keychains.create(Self.offer, by: page)
        try await add(authenticator(), by: page)
        #expect(try await signIn(assertion(authenticator(), passkeys.beginSignIn().challenge)).passkeyWrap == nil)
        try await add(authenticator(mark: 2), by: page, wrap: [7], generation: generation)
        try await people.accounts.setAllowsWebKeys(false, email: "ada@example.com")
        let grant = try await signIn(assertion(authenticator(mark: 2), passkeys.beginSignIn().challenge))
        #expect(grant.passkeyWrap == nil && grant.keychain == nil && grant.withholdsKeychain)
    }

    @Test func `a challenge is accepted once, for what it was given out for, and not for long`() async throws {
        let page = try await browser()
        let other = try await browser("eve@example.com")
        try await add(authenticator(), by: page)
        let authenticator = try authenticator()
        let used = try assertion(authenticator, passkeys.beginSignIn().challenge)
        _ = try await signIn(used)
        await expect(.authenticationFailed) { _ = try await signIn(used) }
        let late = try assertion(authenticator, passkeys.beginSignIn().challenge)
        people.clock.advance(OneTimeTokens.lifetime)
        await expect(.authenticationFailed) { _ = try await signIn(late) }
        for sender in [page, other] {
            for isNew in [true, false] {
                let challenge = try await passkeys.begin(isNew: isNew, by: sender).challenge
                await expect(.authenticationFailed) { _ = try await signIn(assertion(authenticator, challenge)) }
            }
        }
        await expect(.authenticationFailed) {
            _ = try await signIn(assertion(authenticator, [UInt8](repeating: 0, count: 40)))
        }
        // A challenge for Eve's account makes no passkey of Ada's.
        let foreign = try await passkeys.begin(isNew: true, by: other).challenge
        await expect(.authenticationFailed) {
            _ = try await passkeys.add(
                addition(self.authenticator(mark: 2), foreign), proof: .password(TestAccounts.proof), by: page,
                address: "")
        }
    }

    @Test func `a new passkey needs a proof, and its wrap the present keys`() async throws {
        let page = try await browser()
        await expect(.authenticationFailed) {
            try await add(authenticator(), by: page, proof: [UInt8](repeating: 9, count: 32))
        }
        await expect(.itemNotFound) { try await add(authenticator(), by: page, wrap: [7], generation: 1) }
        let generation = try await keychains.create(Self.offer, by: page)
        await expect(.conflict) { try await add(authenticator(), by: page, wrap: [7], generation: generation + 1) }
        await expect(.badRequest) {
            try await add(authenticator(), by: page, wrap: [UInt8](repeating: 0, count: 1025), generation: generation)
        }
        try await add(authenticator(), by: page)
        await expect(.recordExists) { try await add(authenticator(), by: page) }
        let other = try await browser("eve@example.com")
        await expect(.recordExists) { try await add(authenticator(), by: other) }
    }

    @Test func `an agreement by a passkey is one of the same account`() async throws {
        let page = try await browser()
        let other = try await browser("eve@example.com")
        _ = try await keychains.create(Self.offer, by: page)
        let own = try authenticator()
        let foreign = try authenticator(mark: 2)
        try await add(own, by: page)
        try await add(foreign, by: other)
        let keychains = keychains
        func rewrap(_ authenticator: SimulatedAuthenticator, asked sender: AccountSender) async throws {
            let challenge = try await passkeys.begin(isNew: false, by: sender).challenge
            try await keychains.rewrap(
                passwordWrap: [8], recovery: nil, generation: 1, proof: .passkey(assertion(authenticator, challenge)),
                by: page, address: "")
        }
        await expect(.authenticationFailed) { try await rewrap(foreign, asked: other) }
        await expect(.authenticationFailed) { try await rewrap(foreign, asked: page) }
        await expect(.authenticationFailed) { try await rewrap(own, asked: other) }
        try await rewrap(own, asked: page)
    }

    @Test func `a removed passkey, another's handle and a copied authenticator sign nobody in`() async throws {
        let page = try await browser()
        var authenticator = try authenticator()
        authenticator.counter = 3
        try await add(authenticator, by: page)
        await expect(.authenticationFailed) {
            _ = try await signIn(assertion(authenticator, passkeys.beginSignIn().challenge))
        }
        authenticator.counter = 4
        await expect(.authenticationFailed) {
            _ = try await signIn(assertion(authenticator, passkeys.beginSignIn().challenge, handle: [1, 2]))
        }
        _ = try await signIn(assertion(authenticator, passkeys.beginSignIn().challenge))
        let other = try await browser("eve@example.com")
        await expect(.itemNotFound) { try await passkeys.remove(authenticator.id, by: other) }
        try await passkeys.remove(authenticator.id, by: page)
        authenticator.counter = 5
        await expect(.authenticationFailed) {
            _ = try await signIn(assertion(authenticator, passkeys.beginSignIn().challenge))
        }
        await expect(.itemNotFound) { try await passkeys.remove(authenticator.id, by: page) }
    }

    @Test func `an account has a bounded number, and leaves none behind`() async throws {
        let page = try await browser()
        for mark in 1...UInt8(Passkey.countMax) {
            var made = try authenticator(.eddsa)
            made.id = [mark]
            try await add(made, by: page)
        }
        await expect(.itemLimitExceeded) { try await add(authenticator(.eddsa, mark: 99), by: page) }
        try await people.accounts.setDisabled(true, email: "ada@example.com")
        var last = try authenticator(.eddsa)
        last.id = [1]
        await expect(.accountRestricted) { _ = try await signIn(assertion(last, passkeys.beginSignIn().challenge)) }
        try await people.accounts.remove(email: "ada@example.com")
        #expect(try await people.entries(prefix: "passkey").isEmpty)
    }

    @Test func `notes of used challenges go when they have no use any more`() async throws {
        let page = try await browser()
        try await add(authenticator(), by: page)
        for _ in 0..<5 { _ = try await signIn(assertion(authenticator(), passkeys.beginSignIn().challenge)) }
        #expect(try await people.entries(prefix: "spent-token/").count == 6)
        people.clock.advance(OneTimeTokens.lifetime + 1)
        _ = try await signIn(assertion(authenticator(), passkeys.beginSignIn().challenge))
        #expect(try await people.entries(prefix: "spent-token/").count == 1)
    }
}
