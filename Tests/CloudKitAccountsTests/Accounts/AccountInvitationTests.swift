import CloudKitModel
import Testing

@testable import CloudKitAccounts

/// Invitations to make an account: who may use one, how often, for how long.
@Suite(.timeLimit(.minutes(20))) struct AccountInvitationTests {
    private static let derivation = PasswordDerivation(salt: [UInt8](repeating: 9, count: 16), rounds: 10)
    private static let day: Int64 = 86_400_000
    /// A code that no invitation has.
    private static let unknown = String(repeating: "5", count: 32)

    private func signUp(at people: TestAccounts, isOpen: Bool = false) -> SignUp {
        SignUp(store: people.store, isOpen: isOpen, roundsMin: 10)
    }

    private func create(
        _ signUp: SignUp, _ email: String, _ code: String?, from address: String = "10.0.0.1"
    ) async throws {
        _ = try await signUp.create(
            email: email, name: "", proof: TestAccounts.proof, derivation: Self.derivation, address: address,
            invitation: code)
    }

    @Test func `a closed cloud takes those who are invited, as often as the invitation says`() async throws {
        let people = TestAccounts()
        let signUp = signUp(at: people)
        let made = try await people.store.invitations.create(uses: 2, days: 1)
        try await create(signUp, "ada@example.com", made.code)
        try await create(signUp, "ben@example.com", made.code)
        let failure = await failure { try await create(signUp, "eve@example.com", made.code) }
        #expect(failure?.code == .accessDenied && failure?.reason == "the invitation is not valid")
        #expect(failure?.remedy?.contains("Ask the operator") == true)
        #expect(try await people.accounts.list().map(\.email) == ["ada@example.com", "ben@example.com"])
        let row = try #require(try await people.store.invitations.list().first)
        #expect(row.uses == 2 && row.state(at: people.clock.serverEnvironment.now()) == .used)
        let closed = await CloudKitAccountsTests.failure { try await create(signUp, "eve@example.com", nil) }
        #expect(closed?.code == .accessDenied && closed?.reason == "sign-up is closed")
        #expect(closed?.remedy?.contains("--invitation") == true)
    }

    @Test func `an invitation expires by the clock, and is forgotten a month later`() async throws {
        let people = TestAccounts()
        let made = try await people.store.invitations.create(days: 1)
        people.clock.advance(Self.day - 1)
        #expect(made.row.state(at: people.clock.serverEnvironment.now()) == .open)
        people.clock.advance(1)
        await expect(.accessDenied) { try await create(signUp(at: people), "ada@example.com", made.code) }
        #expect(made.row.state(at: people.clock.serverEnvironment.now()) == .expired)
        people.clock.advance(30 * Self.day)
        let next = try await people.store.invitations.create(days: 1)
        #expect(try await people.store.invitations.list() == [next.row])
    }

    @Test func `an invitation of an address makes an account for that address alone`() async throws {
        let people = TestAccounts()
        let signUp = signUp(at: people)
        let made = try await people.store.invitations.create(email: " ADA@example.com", days: 1)
        #expect(made.row.email == "ada@example.com")
        let failure = await failure { try await create(signUp, "eve@example.com", made.code) }
        #expect(failure?.reason == "the invitation is for another e-mail address")
        try await create(signUp, "Ada@Example.com", made.code)
        await #expect(throws: AccountError.emailTaken("ada@example.com")) {
            try await people.store.invitations.create(email: "ada@example.com", days: 1)
        }
    }

    @Test func `an address that has an account costs no use, nor does a refused proof`() async throws {
        let people = TestAccounts()
        try await people.addAda()
        let signUp = signUp(at: people)
        let made = try await people.store.invitations.create(days: 1)
        await expect(.recordExists) { try await create(signUp, "ada@example.com", made.code) }
        await expect(.badRequest) { try await create(signUp, "ada", made.code) }
        #expect(try await people.store.invitations.list().map(\.uses) == [0])
        try await create(signUp, "ben@example.com", made.code)
    }

    @Test(arguments: [false, true])
    func `many at once use an invitation as often as it says`(isShared: Bool) async throws {
        let people = TestAccounts(isShared: isShared)
        let signUps = (0..<2).map { _ in signUp(at: people) }
        let made = try await people.store.invitations.create(uses: 3, days: 1)
        let codes = await withTaskGroup(of: RequestFailure.Code?.self) { group in
            for number in 0..<20 {
                group.addTask {
                    await failure {
                        try await create(
                            signUps[number % 2], "a\(number)@example.com", made.code, from: "10.0.\(number).1")
                    }?.code
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes.count { $0 == nil } == 3 && codes.count { $0 == .accessDenied } == 17)
        #expect(try await people.accounts.list().count == 3)
        #expect(try await people.store.invitations.list().map(\.uses) == [3])
    }

    @Test(arguments: [false, true])
    func `who guesses codes has to wait, and keeps nobody else from signing up`(isShared: Bool) async throws {
        let people = TestAccounts(isShared: isShared)
        let signUp = signUp(at: people)
        let made = try await people.store.invitations.create(uses: 2, days: 1)
        func guess(_ number: Int) -> String {
            let digits = String(number, radix: 16)
            return String(repeating: "0", count: 32 - digits.count) + digits
        }
        for number in 0..<SignInThrottle.addressFailuresMax {
            await expect(.accessDenied) { try await create(signUp, "eve@example.com", guess(number)) }
        }
        await expect(.throttled) { try await create(signUp, "eve@example.com", guess(99)) }
        await expect(.throttled) { try await create(signUp, "eve@example.com", made.code) }
        try await create(signUp, "ada@example.com", made.code, from: "10.0.0.2")
        people.clock.advance(SignInThrottle.window)
        try await create(signUp, "ben@example.com", made.code)
        // What is no code at all is refused as well.
        for text in ["", "x", made.code.uppercased() + "0", String(repeating: "g", count: 32)] {
            await expect(.accessDenied) { try await create(signUp, "eve@example.com", text) }
        }
    }

    @Test func `a class of many signs up from one address with one invitation`() async throws {
        let people = TestAccounts()
        let signUp = signUp(at: people)
        let made = try await people.store.invitations.create(uses: 60, days: 1)
        for number in 0..<60 { try await create(signUp, "a\(number)@example.com", made.code) }
        #expect(try await people.accounts.list().count == 60)
    }

    @Test func `a removed invitation makes no account`() async throws {
        let people = TestAccounts()
        let made = try await people.store.invitations.create(days: 1)
        let other = try await people.store.invitations.create(days: 1)
        #expect(try await people.store.invitations.remove("").isEmpty)
        #expect(try await people.store.invitations.remove("nothing").isEmpty)
        #expect(try await people.store.invitations.remove(made.row.id) == [made.row])
        #expect(try await people.store.invitations.remove(other.code) == [other.row])
        await expect(.accessDenied) { try await create(signUp(at: people), "ada@example.com", made.code) }
    }

    @Test func `the store holds no code`() async throws {
        let people = TestAccounts()
        let made = try await people.store.invitations.create(email: "ada@example.com", days: 1)
        await expect(.accessDenied) { try await create(signUp(at: people), "eve@example.com", made.code) }
        await expect(.accessDenied) { try await create(signUp(at: people), "eve@example.com", Self.unknown) }
        var entries: [(key: String, value: [UInt8])] = []
        for table in ["invitation/", "proof-failures/"] {
            let rows = try await people.entries(prefix: table)
            #expect(!rows.isEmpty, "\(table)")
            entries += rows
        }
        #expect(!entries.contains { $0.key.contains(Self.unknown) })
        for (key, value) in entries {
            #expect(!key.contains(made.code) && !String(decoding: value, as: UTF8.self).contains(made.code))
        }
    }

    @Test func `impossible bounds are refused`() async throws {
        let invitations = TestAccounts().store.invitations
        for (email, uses, days) in [
            (nil, 0, 1), (nil, 10_001, 1), (nil, 1, 0), (nil, 1, 366), ("ada@example.com", 2, 1),
        ] as [(String?, Int, Int)] {
            await #expect(throws: AccountError.invitationBounds) {
                try await invitations.create(email: email, uses: uses, days: days)
            }
        }
        await #expect(throws: AccountError.emailInvalid("ada")) { try await invitations.create(email: "ada", days: 1) }
    }
}
