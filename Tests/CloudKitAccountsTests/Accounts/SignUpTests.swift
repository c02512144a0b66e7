import CloudKitAccounts
import CloudKitModel
import Testing

@Suite(.timeLimit(.minutes(20))) struct SignUpTests {
    let people = TestAccounts()
    private static let derivation = PasswordDerivation(salt: [UInt8](repeating: 9, count: 16), rounds: 10)

    private func signUp(isOpen: Bool = true) -> SignUp {
        SignUp(store: people.store, isOpen: isOpen, roundsMin: 10)
    }

    private func create(
        _ signUp: SignUp, _ email: String = "ada@example.com", proof: [UInt8] = TestAccounts.proof,
        derivation: PasswordDerivation = derivation, from address: String = "10.0.0.1"
    ) async throws -> Account {
        try await signUp.create(email: email, name: "Ada", proof: proof, derivation: derivation, address: address)
    }

    @Test func `anyone makes an account and signs in with it`() async throws {
        let account = try await create(signUp())
        #expect(account.email == "ada@example.com")
        #expect(try await people.signIn.prepare(email: "ada@example.com") == Self.derivation)
        let (place, _) = try await people.place()
        _ = try await people.signIn.create(
            email: "ada@example.com", proof: TestAccounts.proof, deviceName: "", lifetime: .device, place: place,
            address: "")
    }

    @Test func `closed sign-up creates no account`() async throws {
        await expect(.accessDenied) { _ = try await create(signUp(isOpen: false)) }
        #expect(try await people.accounts.list().isEmpty)
    }

    @Test func `an address that has an account is refused`() async throws {
        _ = try await create(signUp())
        await expect(.recordExists) { _ = try await create(signUp(), "ADA@example.com") }
    }

    @Test func `a cheap or malformed proof is refused`() async throws {
        await expect(.badRequest) { _ = try await create(signUp(), proof: [1]) }
        await expect(.badRequest) { _ = try await create(signUp(), "ada") }
        for derivation in [
            PasswordDerivation(salt: Self.derivation.salt, rounds: 9), PasswordDerivation(salt: [1], rounds: 10),
            PasswordDerivation(salt: Self.derivation.salt, rounds: .max),
            PasswordDerivation(salt: .init(repeating: 1, count: 65), rounds: 10),
        ] {
            await expect(.badRequest) { _ = try await create(signUp(), derivation: derivation) }
        }
    }

    @Test func `one address makes twenty accounts an hour`() async throws {
        let signUp = signUp()
        for number in 0..<20 { _ = try await create(signUp, "a\(number)@example.com") }
        let failure = await failure { _ = try await create(signUp, "b@example.com") }
        #expect(failure?.code == .throttled)
        #expect(failure?.retryAfter == 3600)
        _ = try await create(signUp, "b@example.com", from: "10.0.0.2")
        people.clock.advance(3_600_000)
        _ = try await create(signUp, "c@example.com")
    }

    @Test func `each sign-up is forgotten an hour later`() async throws {
        let signUp = signUp()
        for number in 0..<20 {
            _ = try await create(signUp, "a\(number)@example.com")
            people.clock.advance(60_000)
        }
        #expect(await failure { _ = try await create(signUp, "b@example.com") }?.retryAfter == 2400)
        people.clock.advance(2_400_000)
        for number in 0..<40 {
            _ = try await create(signUp, "c\(number)@example.com")
            #expect(await failure { _ = try await create(signUp, "d@example.com") }?.code == .throttled)
            people.clock.advance(number % 20 == 19 ? 2_460_000 : 60_000)
        }
    }

    @Test func `all addresses together make as many accounts an hour as the operator allows`() async throws {
        let signUp = SignUp(store: people.store, isOpen: true, hourMax: 3, roundsMin: 10)
        for number in 0..<3 { _ = try await create(signUp, "a\(number)@example.com", from: "10.0.1.\(number)") }
        let failure = await failure { _ = try await create(signUp, "b@example.com", from: "10.0.2.1") }
        #expect(failure?.code == .throttled)
        #expect(failure?.retryAfter == 3600)
        people.clock.advance(3_600_000)
        _ = try await create(signUp, "b@example.com", from: "10.0.2.1")
    }
}
