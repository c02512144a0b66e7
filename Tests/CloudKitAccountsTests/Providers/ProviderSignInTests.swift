import CloudKitModel
import Crypto
import Synchronization
import Testing
import WebCredentials

@testable import CloudKitAccounts

/// People whom a provider vouches for: their accounts, their sign-ins, and what others try.
@Suite(.timeLimit(.minutes(20))) struct ProviderSignInTests {
    /// Vouches for the person of the code.
    private final class Provider: SignInProvider {
        let label = "Work"
        let people = Mutex<[String: IDToken]>([:])
        let requests = Mutex<[ProviderRequest]>([])

        struct Down: Error {}

        func authorizationURL(_ request: ProviderRequest) async throws -> String {
            if request.redirect.contains("down") { throw Down() }
            requests.withLock { $0.append(request) }
            return "https://id.example.com/authorize"
        }

        func identity(code: String, _ request: ProviderRequest, now: Int64) async throws -> IDToken {
            guard let known = requests.withLock({ $0.first { $0 == request } }), known.nonce == request.nonce,
                let token = people.withLock({ $0[code] })
            else { throw CredentialError.claim("nonce") }
            return token
        }
    }

    let people = TestAccounts()
    private let provider = Provider()
    private let limiter = ProofLimiter(roundsMin: 1)

    init() throws {
        provider.people.withLock {
            $0["ada"] = Self.token("ada-at-work", email: "Ada@Example.com", isVerified: true)
            $0["eve"] = Self.token("eve-at-work", email: "ada@example.com", isVerified: true)
            $0["unverified"] = Self.token("bob-at-work", email: "bob@example.com", isVerified: false)
            $0["nameless"] = Self.token("zoe-at-work", email: nil, isVerified: true)
            $0["elsewhere"] = Self.token(
                "ada-at-work", issuer: "https://other.example.com", email: "x@example.com", isVerified: true)
        }
    }

    private static func token(
        _ subject: String, issuer: String = "https://id.example.com", email: String?, isVerified: Bool
    ) -> IDToken {
        IDToken(
            issuer: issuer, subject: subject, email: email, isEmailVerified: isVerified,
            name: email == nil ? nil : "Ada")
    }

    private func signIn(publicURL: String = "https://cloud.example.com") -> ProviderSignIn {
        ProviderSignIn(
            store: people.store, provider: provider, publicURL: publicURL, proofLimiter: limiter, report: { _ in })
    }

    private static let secret = [UInt8](repeating: 5, count: 32)
    private static let binding = Array(SHA256.hash(data: secret))

    /// Goes to the provider and comes back.
    private func ticket(_ code: String, line: Int = #line) async throws -> String {
        _ = try await signIn().begin(binding: Self.binding)
        let state = try #require(provider.requests.withLock { $0.last?.state })
        return try await signIn().finish(
            state: state, code: code, secret: Self.secret, address: "10.1.\(line / 250).\(line % 250)"
        ).sealed
    }

    private func open(_ ticket: String, _ lifetime: SessionLifetime = .session, line: Int = #line) async throws
        -> DeviceSignIn.Grant
    {
        let (place, _) = try await people.place()
        return try await DeviceSignIn(store: people.store, proofGuard: limiter).create(
            DeviceSignIn.Opening(
                deviceName: "Browser", lifetime: lifetime, place: place,
                address: "10.0.\(line / 250).\(line % 250)", wantsKeychain: true),
            ticket: ticket)
    }

    private func signUp(isOpen: Bool = true) -> SignUp {
        SignUp(store: people.store, isOpen: isOpen, roundsMin: 1, proofLimiter: limiter)
    }

    @Test func `a program gets its answer at its port, and at no other`() async throws {
        _ = try await signIn().begin(binding: Self.binding, port: 4711)
        let state = try #require(provider.requests.withLock { $0.last?.state })
        #expect(state.hasSuffix("~4711"))
        let sealed = try #require(state.split(separator: "~").first.map(String.init))
        for changed in [sealed, sealed + "~4712", sealed + "~", sealed + "~4711~4711"] {
            await expect(.authenticationFailed) {
                _ = try await signIn().finish(state: changed, code: "ada", secret: Self.secret, address: "10.2.0.1")
            }
        }
        await expect(.authenticationFailed) {
            _ = try await signIn().finish(
                state: state, code: "ada", secret: [UInt8](repeating: 6, count: 32), address: "10.2.0.2")
        }
        _ = try await signIn().finish(state: state, code: "ada", secret: Self.secret, address: "10.2.0.3")
        // The state of a page names no port, and takes none.
        _ = try await signIn().begin(binding: Self.binding)
        let page = try #require(provider.requests.withLock { $0.last?.state })
        await expect(.authenticationFailed) {
            _ = try await signIn().finish(state: page + "~1", code: "ada", secret: Self.secret, address: "10.2.0.4")
        }
    }

    @Test func `the first sign-in makes an account without a password, and the next ones find it`() async throws {
        let first = try await ticket("ada")
        await expect(.itemNotFound) { _ = try await open(first) }
        let account = try await signUp().create(ticket: first, email: "other@example.com", name: "Other", address: "")
        #expect(account.email == "ada@example.com" && account.name == "Ada")
        #expect(account.isEmailProved && !account.hasPassword)
        // The ticket that made the account opens a session, once.
        #expect(try await open(first).email == "ada@example.com")
        await expect(.authenticationFailed) { _ = try await open(first) }
        #expect(try await open(ticket("ada")).email == "ada@example.com")
        await expect(.recordExists) {
            _ = try await signUp().create(ticket: ticket("ada"), email: nil, name: nil, address: "")
        }
        // Before a sign-in it looks like an account with a password, and no proof opens it.
        let derivation = try await people.signIn.prepare(email: "ada@example.com")
        #expect(derivation.salt.count == 16 && derivation.rounds == 1)
        let (place, _) = try await people.place()
        await expect(.authenticationFailed) {
            _ = try await people.signIn.create(
                email: "ada@example.com", proof: [UInt8](repeating: 0, count: 32), deviceName: "", lifetime: .session,
                place: place, address: "")
        }
    }

    @Test func `the address never leads to an account of another`() async throws {
        try await people.addAda()
        let eves = try await ticket("eve")
        await expect(.itemNotFound) { _ = try await open(eves) }
        await expect(.recordExists) {
            _ = try await signUp().create(ticket: eves, email: "eve@example.com", name: nil, address: "")
        }
        // The same name of a person at another provider is another person.
        let account = try await signUp().create(ticket: ticket("elsewhere"), email: nil, name: nil, address: "")
        #expect(account.email == "x@example.com")
        await expect(.itemNotFound) { _ = try await open(ticket("ada")) }
    }

    @Test func `an address counts as proved only where the provider has verified it`() async throws {
        let unverified = try await signUp().create(ticket: ticket("unverified"), email: nil, name: nil, address: "")
        #expect(unverified.email == "bob@example.com" && !unverified.isEmailProved)
        let nameless = try await ticket("nameless")
        await expect(.badRequest) {
            _ = try await signUp().create(ticket: nameless, email: nil, name: nil, address: "")
        }
        let own = try await signUp().create(ticket: nameless, email: "Zoe@example.com", name: "Zoe", address: "")
        #expect(own.email == "zoe@example.com" && own.name == "Zoe" && !own.isEmailProved)
    }

    @Test func `closed sign-up needs an invitation, also for a person of the provider`() async throws {
        let ticket = try await ticket("ada")
        await expect(.accessDenied) {
            _ = try await signUp(isOpen: false).create(ticket: ticket, email: nil, name: nil, address: "")
        }
        let other = try await people.store.invitations.create(email: "bob@example.com", days: 1).code
        await expect(.accessDenied) {
            _ = try await signUp(isOpen: false).create(
                ticket: ticket, email: "bob@example.com", name: nil, address: "", invitation: other)
        }
        let code = try await people.store.invitations.create(days: 1).code
        let account = try await signUp(isOpen: false).create(
            ticket: ticket, email: nil, name: nil, address: "", invitation: code)
        #expect(account.email == "ada@example.com")
        #expect(try await open(ticket).email == "ada@example.com")
    }

    @Test func `a state is of one browser, once, for a while, and of this cloud`() async throws {
        _ = try await signIn().begin(binding: Self.binding)
        let state = try #require(provider.requests.withLock { $0.last?.state })
        func finish(_ state: String, secret: [UInt8] = Self.secret, code: String = "ada", line: Int = #line)
            async throws
        {
            _ = try await signIn().finish(
                state: state, code: code, secret: secret, address: "10.2.\(line / 250).\(line % 250)")
        }
        await expect(.authenticationFailed) { try await finish(state, secret: [UInt8](repeating: 6, count: 32)) }
        await expect(.authenticationFailed) { try await finish(String(state.dropLast(2)) + "AA") }
        await expect(.authenticationFailed) { try await finish("") }
        await expect(.authenticationFailed) { try await finish(state, code: String(repeating: "a", count: 5000)) }
        try await finish(state)
        await expect(.authenticationFailed) { try await finish(state) }
        _ = try await signIn().begin(binding: Self.binding)
        let late = try #require(provider.requests.withLock { $0.last?.state })
        people.clock.advance(ProviderSignIn.stateLifetime)
        await expect(.authenticationFailed) { try await finish(late) }
        await expect(.badRequest) { _ = try await signIn().begin(binding: [1]) }
        await expect(.tryAgainLater) { _ = try await signIn(publicURL: "https://down").begin(binding: Self.binding) }
        // A word of the provider that does not hold uses the state up, too.
        _ = try await signIn().begin(binding: Self.binding)
        let wrong = try #require(provider.requests.withLock { $0.last?.state })
        await expect(.authenticationFailed) { try await finish(wrong, code: "nobody") }
        await expect(.authenticationFailed) { try await finish(wrong) }
    }

    @Test func `nonce and verifier differ from sign-in to sign-in, and follow from no public part`() async throws {
        for _ in 0..<3 { _ = try await signIn().begin(binding: Self.binding) }
        let requests = provider.requests.withLock { $0 }
        #expect(Set(requests.map(\.nonce)).count == 3 && Set(requests.map(\.verifier)).count == 3)
        for request in requests {
            #expect((43...128).contains(request.verifier.utf8.count))
            #expect(!request.state.contains(request.nonce) && !request.state.contains(request.verifier))
        }
    }

    @Test func `an old ticket and one of another cloud sign nobody in`() async throws {
        let ticket = try await ticket("ada")
        _ = try await signUp().create(ticket: ticket, email: nil, name: nil, address: "")
        people.clock.advance(ProviderSignIn.ticketLifetime)
        await expect(.authenticationFailed) { _ = try await open(ticket) }
        await expect(.authenticationFailed) { _ = try await open("AAAA") }
        var environment = people.clock.serverEnvironment
        environment.secret = [UInt8](repeating: 8, count: 32)
        let forged = try ProviderTickets(environment).seal(
            ProviderTicket(
                issuer: "https://id.example.com", subject: "ada-at-work", email: nil, isEmailVerified: false, name: nil,
                expires: .max, id: ""))
        await expect(.authenticationFailed) { _ = try await open(forged) }
    }

    @Test func `a password account is connected by its person, and never loses its last way in`() async throws {
        try await people.addAda()
        let (place, _) = try await people.place()
        let grant = try await people.signIn.create(
            email: "ada@example.com", proof: TestAccounts.proof, deviceName: "Page", lifetime: .session, place: place,
            address: "")
        let page = AccountSender.browser(session: grant.deviceID)
        func link(_ ticket: String, proof: [UInt8] = TestAccounts.proof) async throws {
            try await people.store.link(ticket: ticket, proof: .password(proof), by: page, address: "", limiter)
        }
        let ticket = try await ticket("eve")
        await expect(.authenticationFailed) { try await link(ticket, proof: [UInt8](repeating: 3, count: 32)) }
        try await link(ticket)
        await expect(.recordExists) { try await link(self.ticket("eve")) }
        #expect(try await open(self.ticket("eve")).email == "ada@example.com")
        let account = try #require(try await people.accounts.account(email: "ada@example.com"))
        let identity = try #require(try await people.store.providerIdentities(ofAccount: account.id).first)
        #expect(identity.subject == "eve-at-work")
        await expect(.itemNotFound) { try await people.store.unlink(identity: "0", by: page) }
        try await people.store.unlink(identity: identity.id, by: page)
        await expect(.itemNotFound) { _ = try await open(self.ticket("eve")) }
    }

    @Test func `keys without a password: made in the browser, opened by the words, lost with nothing`() async throws {
        let ticket = try await ticket("ada")
        let account = try await signUp().create(ticket: ticket, email: nil, name: nil, address: "")
        let grant = try await open(ticket)
        #expect(grant.keychain == nil)
        let page = AccountSender.browser(session: grant.deviceID)
        let keychains = people.store.keychains(limiter)
        let words = [UInt8](repeating: 4, count: 32)
        let offer = KeychainUpload(
            passwordWrap: [], recovery: RecoveryUpload(wrap: [2], proof: words), identity: [3])
        #expect(try await keychains.create(offer, by: page) == 1)
        let identity = try #require(try await people.store.providerIdentities(ofAccount: account.id).first)
        await expect(.badRequest) { try await people.store.unlink(identity: identity.id, by: page) }
        // Another browser is signed in without keys, and opens them with the words.
        let other = try await open(self.ticket("ada"))
        #expect(other.keychain?.passwordWrap == [])
        let otherPage = AccountSender.browser(session: other.deviceID)
        await expect(.authenticationFailed) {
            _ = try await keychains.open(
                by: otherPage, proof: .recoveryWords([UInt8](repeating: 9, count: 32)), address: "")
        }
        let opening = try await keychains.open(by: otherPage, proof: .recoveryWords(words), address: "")
        #expect(opening.wrap == [2] && opening.keychain.identity == [3])
        // A password makes it an account like any other.
        try await keychains.changePassword(
            to: NewPassword(
                proof: TestAccounts.proof,
                derivation: PasswordDerivation(salt: [UInt8](repeating: 1, count: 16), rounds: 1),
                wrap: [7]), generation: 1, proof: .recoveryWords(words), by: page, address: "")
        #expect(try await people.accounts.account(email: "ada@example.com")?.hasPassword == true)
        try await people.store.unlink(identity: identity.id, by: page)
        try await people.accounts.remove(email: "ada@example.com")
        #expect(try await people.entries(prefix: "provider").isEmpty)
        await expect(.itemNotFound) { _ = try await open(self.ticket("ada")) }
    }
}
