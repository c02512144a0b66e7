import CloudKitModel
import Testing

@testable import CloudKitAccounts

/// The operations of devices on the keychain of their account; every part of it is opaque here.
@Suite(.timeLimit(.minutes(20))) struct KeychainTests {
    let people = TestAccounts()

    /// A device that Ada signed in.
    private func signIn(proof: [UInt8] = TestAccounts.proof) async throws -> (device: DeviceKey, held: Keychain?) {
        if try await people.accounts.account(email: "ada@example.com") == nil { try await people.addAda() }
        let (place, _) = try await people.place()
        let grant = try await people.signIn.create(
            email: "ada@example.com", proof: proof, deviceName: "Laptop", lifetime: .device, place: place,
            address: "10.0.0.1")
        return (DeviceKey(id: grant.deviceID, secret: try #require(grant.deviceSecret)), grant.keychain)
    }

    private var keychains: Keychains {
        people.store.keychains(ProofLimiter(roundsMin: 1))
    }

    private static let words = [UInt8](repeating: 4, count: 32)
    private static let otherProof = [UInt8](repeating: 2, count: 32)
    private static let derivation = PasswordDerivation(salt: [UInt8](repeating: 9, count: 16), rounds: 1)

    private static func offer(_ mark: UInt8 = 1) -> KeychainUpload {
        KeychainUpload(
            passwordWrap: [mark, 1], recovery: RecoveryUpload(wrap: [mark, 2], proof: words), identity: [mark, 3])
    }

    @Test func `the first device makes the keychain and the second gets it with the password alone`() async throws {
        let (first, none) = try await signIn()
        #expect(none == nil)
        #expect(try await keychains.create(Self.offer(), by: first) == 1)
        let (_, held) = try await signIn()
        #expect(held?.generation == 1)
        #expect(held?.passwordWrap == [1, 1])
        #expect(held?.identity == [1, 3])
    }

    @Test func `the second of two devices that make a keychain at once is refused`() async throws {
        let (first, _) = try await signIn()
        let (second, _) = try await signIn()
        _ = try await keychains.create(Self.offer(1), by: first)
        await expect(.conflict) { _ = try await keychains.create(Self.offer(2), by: second) }
        let status = try await keychains.status(for: second)
        #expect(status.isOutdated)
        #expect(status.identity == [1, 3])
    }

    @Test func `parts that are empty or too long are refused`() async throws {
        let (device, _) = try await signIn()
        var offers = [Self.offer(), Self.offer(), Self.offer(), Self.offer()]
        offers[0].passwordWrap = []
        offers[1].recovery.wrap = [UInt8](repeating: 0, count: 1025)
        offers[2].recovery.proof = [1]
        offers[3].identity = [UInt8](repeating: 0, count: 2049)
        for offer in offers {
            await expect(.badRequest) { _ = try await keychains.create(offer, by: device) }
        }
    }

    @Test func `another password is wrapped in one step, and devices stay signed in`() async throws {
        let (device, _) = try await signIn()
        _ = try await keychains.create(Self.offer(), by: device)
        try await keychains.changePassword(
            to: NewPassword(proof: Self.otherProof, derivation: Self.derivation, wrap: [7]), generation: 1,
            proof: .password(TestAccounts.proof), by: .device(device), address: "")
        await expect(.authenticationFailed) { _ = try await signIn() }
        let (_, held) = try await signIn(proof: Self.otherProof)
        #expect(held?.passwordWrap == [7])
        #expect(held?.generation == 1)
        #expect(try await keychains.status(for: device).isOutdated == false)
    }

    @Test func `a password changes neither without the old one, nor without its wrapped secret, nor for old keys`()
        async throws
    {
        let (device, _) = try await signIn()
        _ = try await keychains.create(Self.offer(), by: device)
        func change(_ proof: [UInt8] = TestAccounts.proof, wrap: [UInt8]? = [7], generation: Int = 1) async throws {
            try await keychains.changePassword(
                to: NewPassword(proof: Self.otherProof, derivation: Self.derivation, wrap: wrap),
                generation: generation,
                proof: .password(proof), by: .device(device), address: "")
        }
        await expect(.authenticationFailed) { try await change([9]) }
        await expect(.badRequest) { try await change(wrap: nil) }
        await expect(.conflict) { try await change(generation: 2) }
        let (_, held) = try await signIn()
        #expect(held?.passwordWrap == [1, 1])
    }

    @Test func `guessing the old password is slowed down like signing in`() async throws {
        let (device, _) = try await signIn()
        _ = try await keychains.create(Self.offer(), by: device)
        let keychains = keychains
        func guess(_ proof: [UInt8]) async throws {
            try await keychains.rewrap(
                passwordWrap: [1], recovery: nil, generation: 1, proof: .password(proof), by: .device(device),
                address: "10.0.0.1")
        }
        for _ in 0..<5 { await expect(.authenticationFailed) { try await guess([9]) } }
        await expect(.throttled) { try await guess(TestAccounts.proof) }
    }

    @Test func `recovery words give the wrapped secret and set a password`() async throws {
        let (device, _) = try await signIn()
        _ = try await keychains.create(Self.offer(), by: device)
        let recovery = try await keychains.recovery(email: "Ada@example.com", proof: Self.words, address: "")
        #expect(recovery.recoveryWrap == [1, 2])
        try await keychains.recover(
            email: "ada@example.com", proof: Self.words,
            password: NewPassword(proof: Self.otherProof, derivation: Self.derivation, wrap: [8]),
            generation: recovery.generation, address: "")
        let (_, held) = try await signIn(proof: Self.otherProof)
        #expect(held?.passwordWrap == [8])
        #expect(try await keychains.status(for: device).isOutdated == false)
    }

    @Test
    func `wrong words, unknown accounts and accounts without a keychain get the same answer, and are slowed down`()
        async throws
    {
        _ = try await signIn()
        let keychains = keychains
        var failures: Set<RequestFailure> = []
        for email in ["ada@example.com", "eve@example.com"] {
            let failure = await #expect(throws: RequestFailure.self) {
                try await keychains.recovery(email: email, proof: Self.words, address: "1")
            }
            failures.insert(try #require(failure))
        }
        #expect(failures.count == 1)
        #expect(failures.first?.code == .authenticationFailed)
        for _ in 0..<4 {
            await expect(.authenticationFailed) {
                _ = try await keychains.recovery(email: "ada@example.com", proof: Self.words, address: "1")
            }
        }
        await expect(.throttled) {
            _ = try await keychains.recovery(email: "ada@example.com", proof: Self.words, address: "1")
        }
    }

    @Test func `new recovery words invalidate the old ones`() async throws {
        let (device, _) = try await signIn()
        _ = try await keychains.create(Self.offer(), by: device)
        try await keychains.rewrap(
            passwordWrap: nil, recovery: RecoveryUpload(wrap: [5], proof: Self.otherProof), generation: 1,
            proof: .password(TestAccounts.proof), by: .device(device),
            address: "")
        await expect(.authenticationFailed) {
            _ = try await keychains.recovery(email: "ada@example.com", proof: Self.words, address: "")
        }
        let recovery = try await keychains.recovery(
            email: "ada@example.com", proof: Self.otherProof, address: "")
        #expect(recovery.recoveryWrap == [5])
    }

    @Test func `a browser makes the keychain, and other words by the present ones`() async throws {
        try await people.addAda()
        let (place, _) = try await people.place()
        let grant = try await people.signIn.create(
            email: "ada@example.com", proof: TestAccounts.proof, deviceName: "Page", lifetime: .session, place: place,
            address: "")
        let browser = AccountSender.browser(session: grant.deviceID)
        #expect(try await keychains.create(Self.offer(), by: browser) == 1)
        #expect(try await people.store.sessions.session(grant.deviceID)?.isBrowserWithKeys == true)
        let keychains = keychains
        func rewrap(_ proof: AccountProof) async throws {
            try await keychains.rewrap(
                passwordWrap: nil, recovery: RecoveryUpload(wrap: [5], proof: Self.otherProof), generation: 1,
                proof: proof, by: browser, address: "")
        }
        await expect(.authenticationFailed) { try await rewrap(.recoveryWords(Self.otherProof)) }
        try await rewrap(.recoveryWords(Self.words))
        await expect(.authenticationFailed) { try await rewrap(.recoveryWords(Self.words)) }
        let recovery = try await keychains.recovery(email: "ada@example.com", proof: Self.otherProof, address: "")
        #expect(recovery.recoveryWrap == [5])
    }

    @Test func `a disabled account recovers nothing and changes nothing`() async throws {
        let (device, _) = try await signIn()
        _ = try await keychains.create(Self.offer(), by: device)
        try await people.accounts.setDisabled(true, email: "ada@example.com")
        await expect(.accountRestricted) { _ = try await keychains.status(for: device) }
        await expect(.accountRestricted) {
            _ = try await keychains.recovery(email: "ada@example.com", proof: Self.words, address: "")
        }
        await expect(.accountRestricted) {
            try await keychains.rewrap(
                passwordWrap: [1], recovery: nil, generation: 1, proof: .password(TestAccounts.proof),
                by: .device(device),
                address: "")
        }
    }

    @Test func `B-ACC-02 a reset leaves all devices with outdated keys until they sign in`() async throws {
        let (first, _) = try await signIn()
        _ = try await keychains.create(Self.offer(1), by: first)
        let (second, _) = try await signIn()
        await expect(.authenticationFailed) {
            _ = try await keychains.reset(
                to: Self.offer(2), replacing: 1, proof: .password([9]), by: second, address: "")
        }
        await expect(.conflict) {
            _ = try await keychains.reset(
                to: Self.offer(2), replacing: 2, proof: .password(TestAccounts.proof), by: second, address: "")
        }
        let generation = try await keychains.reset(
            to: Self.offer(2), replacing: 1, proof: .password(TestAccounts.proof), by: second, address: "")
        #expect(generation == 2)
        #expect(try await keychains.status(for: first).isOutdated)
        #expect(try await keychains.status(for: second).isOutdated)
        let (third, held) = try await signIn()
        #expect(held?.identity == [2, 3])
        #expect(try await keychains.status(for: third).isOutdated == false)
    }

    @Test func `after the operator's reset the next device makes the keychain`() async throws {
        let (first, _) = try await signIn()
        _ = try await keychains.create(Self.offer(1), by: first)
        try await keychains.reset(email: "ADA@example.com")
        let (second, held) = try await signIn()
        #expect(held == nil)
        await expect(.conflict) { _ = try await keychains.create(Self.offer(2), by: first) }
        #expect(try await keychains.create(Self.offer(2), by: second) == 3)
        await #expect(throws: AccountError.notFound("eve@example.com")) {
            try await keychains.reset(email: "eve@example.com")
        }
    }

    @Test func `a container's users find one another's public identity`() async throws {
        let (device, _) = try await signIn()
        let account = try #require(try await people.accounts.account(email: "ada@example.com"))
        let user = try await people.store.userNames.name(
            of: account.id, in: people.container)
        let identities = people.store.identities
        #expect(try await identities.lookup([user], in: people.container).isEmpty)
        _ = try await keychains.create(Self.offer(), by: device)
        let found = try await identities.lookup([UserID("_nobody"), user], in: people.container)
        #expect(found.map(\.user) == [user])
        #expect(found.first?.identity == [1, 3])
        #expect(found.first?.generation == 1)
        #expect(try await identities.lookup([user], in: .init("iCloud.other")).isEmpty)
        await expect(.itemLimitExceeded) {
            _ = try await identities.lookup(.init(repeating: user, count: 101), in: people.container)
        }
    }

    @Test func `a device is revoked by the first digits of its id, if only one begins so`() async throws {
        let (device, _) = try await signIn()
        _ = try await signIn()
        let account = try #require(try await people.accounts.account(email: "ada@example.com"))
        let sessions = people.store.sessions
        #expect(try await sessions.revoke("", ofAccount: account.id).isEmpty)
        #expect(try await sessions.revoke("zz", ofAccount: account.id).isEmpty)
        #expect(try await sessions.revoke(String(device.id.prefix(20)), ofAccount: account.id).count == 1)
        #expect(try await sessions.sessions(of: account).count == 1)
        await expect(.authenticationFailed) { _ = try await keychains.status(for: device) }
    }
}
