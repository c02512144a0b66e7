import CloudKitModel
import Testing

@testable import CloudKitAccounts

/// The way of keys between devices of an account, as the cloud passes them on; every part is opaque here.
@Suite(.timeLimit(.minutes(20))) struct KeyRequestTests {
    let people = TestAccounts()
    private var requests: KeyRequests { people.store.keyRequests }

    private struct Signed {
        var id: String
        var sender: AccountSender
    }

    private func signIn(_ email: String = "ada@example.com") async throws -> Signed {
        if try await people.accounts.account(email: email) == nil {
            _ = try await people.accounts.add(
                email: email, name: "", proof: TestAccounts.proof, derivation: people.accounts.newDerivation(rounds: 1))
        }
        let (place, _) = try await people.place()
        let grant = try await people.signIn.create(
            email: email, proof: TestAccounts.proof, deviceName: "Laptop", lifetime: .device, place: place,
            address: "10.0.0.1")
        return Signed(
            id: grant.deviceID,
            sender: .device(DeviceKey(id: grant.deviceID, secret: try #require(grant.deviceSecret))))
    }

    /// A device that made the account's keys.
    private func signInWithKeys(_ email: String = "ada@example.com") async throws -> Signed {
        let device = try await signIn(email)
        guard case .device(let key) = device.sender else { return device }
        _ = try await people.store.keychains(ProofLimiter(roundsMin: 1)).create(
            KeychainUpload(
                passwordWrap: [1], recovery: RecoveryUpload(wrap: [2], proof: Self.part), identity: [3]), by: key)
        return device
    }

    /// A browser on a page of the cloud.
    private func signInBrowser(wantsKeychain: Bool) async throws -> Signed {
        let (place, _) = try await people.place()
        let grant = try await people.signIn.create(
            email: "ada@example.com", proof: TestAccounts.proof, deviceName: "Account page", lifetime: .session,
            place: place, address: "10.0.0.3", wantsKeychain: wantsKeychain)
        return Signed(id: grant.deviceID, sender: .browser(session: grant.deviceID))
    }

    /// Signs another device in that asks, and returns its session.
    private func askedByDevice() async throws -> String {
        let device = try await signIn()
        _ = try await ask(device)
        return device.id
    }

    private static let part = [UInt8](repeating: 4, count: 32)

    private func ask(_ device: Signed) async throws -> StoredKeyRequest {
        try await requests.create(commitment: Self.part, by: device.sender, address: "10.0.0.2")
    }

    private func state(_ device: Signed, by sender: AccountSender) async throws -> StoredKeyRequest.State? {
        try await requests.list(by: sender).first { $0.request.session == device.id }?.request.state
    }

    @Test func `each step is taken once, in order, and by the device whose step it is`() async throws {
        let old = try await signInWithKeys()
        let (new, third) = (try await signIn(), try await signIn())
        _ = try await ask(new)
        await expect(.conflict) { try await requests.reveal(publicKey: Self.part, nonce: Self.part, by: new.sender) }
        await expect(.conflict) { try await requests.approve(new.id, sealed: [1], by: old.sender) }
        await expect(.badRequest) { try await requests.answer(new.id, nonce: Self.part, by: new.sender) }
        try await requests.answer(new.id, nonce: Self.part, by: old.sender)
        await expect(.conflict) { try await requests.answer(new.id, nonce: Self.part, by: third.sender) }
        await expect(.conflict) { try await requests.approve(new.id, sealed: [1], by: old.sender) }
        await expect(.itemNotFound) {
            try await requests.reveal(publicKey: Self.part, nonce: Self.part, by: old.sender)
        }
        try await requests.reveal(publicKey: Self.part, nonce: Self.part, by: new.sender)
        await expect(.conflict) { try await requests.reveal(publicKey: Self.part, nonce: Self.part, by: new.sender) }
        await expect(.conflict) { try await requests.finish(receipt: Self.part, by: new.sender) }
        await expect(.accessDenied) { try await requests.approve(new.id, sealed: [1], by: third.sender) }
        try await requests.approve(new.id, sealed: [1, 2, 3], by: old.sender)
        await expect(.conflict) { try await requests.approve(new.id, sealed: [4], by: old.sender) }
        await expect(.conflict) { try await requests.refuse(new.id, by: third.sender) }
        #expect(try await state(new, by: third.sender) == .approved)
        try await requests.finish(receipt: Self.part, by: new.sender)
        await expect(.conflict) { try await requests.finish(receipt: Self.part, by: new.sender) }
        let listed = try await requests.list(by: old.sender)
        #expect(listed.map(\.request.receipt) == [Self.part] && listed.allSatisfy { $0.request.sealed == nil })
    }

    @Test func `a request is over after ten minutes, at every step`() async throws {
        let old = try await signInWithKeys()
        let new = try await signIn()
        _ = try await ask(new)
        try await requests.answer(new.id, nonce: Self.part, by: old.sender)
        try await requests.reveal(publicKey: Self.part, nonce: Self.part, by: new.sender)
        people.clock.advance(StoredKeyRequest.lifetime - 1)
        #expect(try await state(new, by: old.sender) == .compared)
        people.clock.advance(1)
        #expect(try await requests.list(by: old.sender).isEmpty)
        await expect(.itemNotFound) { try await requests.approve(new.id, sealed: [1], by: old.sender) }
        await expect(.itemNotFound) { try await requests.finish(receipt: Self.part, by: new.sender) }
        _ = try await ask(new)
        #expect(try await state(new, by: old.sender) == .waiting)
    }

    @Test func `a refused device waits, one that takes its request back does not`() async throws {
        let old = try await signInWithKeys()
        let new = try await signIn()
        _ = try await ask(new)
        try await requests.refuse(new.id, by: new.sender)
        _ = try await ask(new)
        try await requests.refuse(new.id, by: old.sender)
        #expect(try await state(new, by: new.sender) == .refused)
        await expect(.conflict) { try await requests.refuse(new.id, by: new.sender) }
        await expect(.accessDenied) { try await requests.answer(new.id, nonce: Self.part, by: old.sender) }
        await expect(.throttled) { _ = try await ask(new) }
        people.clock.advance(StoredKeyRequest.lifetime)
        _ = try await ask(new)
    }

    @Test func `an account has five requests at a time`() async throws {
        _ = try await signInWithKeys()
        for _ in 0..<StoredKeyRequest.countMax { _ = try await ask(signIn()) }
        let another = try await signIn()
        await expect(.throttled) { _ = try await ask(another) }
    }

    @Test func `another account sees and does nothing`() async throws {
        _ = try await signInWithKeys()
        let new = try await signIn()
        _ = try await ask(new)
        let eve = try await signInWithKeys("eve@example.com")
        #expect(try await requests.list(by: eve.sender).isEmpty)
        await expect(.itemNotFound) { try await requests.answer(new.id, nonce: Self.part, by: eve.sender) }
        await expect(.itemNotFound) { try await requests.approve(new.id, sealed: [1], by: eve.sender) }
        await expect(.itemNotFound) { try await requests.refuse(new.id, by: eve.sender) }
    }

    @Test func `a browser gets keys until the owner lets no browser have them`() async throws {
        let old = try await signInWithKeys()
        let browser = try await signInBrowser(wantsKeychain: false)
        await expect(.badRequest) {
            try await requests.answer(try await askedByDevice(), nonce: Self.part, by: browser.sender)
        }
        _ = try await ask(browser)
        try await requests.answer(browser.id, nonce: Self.part, by: old.sender)
        try await requests.reveal(publicKey: Self.part, nonce: Self.part, by: browser.sender)
        try await people.accounts.setAllowsWebKeys(false, email: "ada@example.com")
        await expect(.accessDenied) { try await requests.approve(browser.id, sealed: [1], by: old.sender) }
        #expect(try await state(browser, by: browser.sender) == .compared)
        // It may take its request back, and makes no other one.
        try await requests.refuse(browser.id, by: browser.sender)
        await expect(.accessDenied) { _ = try await ask(browser) }
        try await people.accounts.setAllowsWebKeys(true, email: "ada@example.com")
        _ = try await ask(browser)
        try await people.accounts.setAllowsWebKeys(false, email: "ada@example.com")
        await expect(.accessDenied) { try await requests.answer(browser.id, nonce: Self.part, by: old.sender) }
    }

    @Test func `a browser that got keys gives them, and is signed out when browsers may have none`() async throws {
        let old = try await signInWithKeys()
        let browser = try await signInBrowser(wantsKeychain: false)
        _ = try await ask(browser)
        try await requests.answer(browser.id, nonce: Self.part, by: old.sender)
        try await requests.reveal(publicKey: Self.part, nonce: Self.part, by: browser.sender)
        try await requests.approve(browser.id, sealed: [1], by: old.sender)
        try await requests.answer(try await askedByDevice(), nonce: Self.part, by: browser.sender)
        try await people.accounts.setAllowsWebKeys(false, email: "ada@example.com")
        await expect(.authenticationFailed) { _ = try await requests.list(by: browser.sender) }
        #expect(try await requests.list(by: old.sender).allSatisfy { $0.request.session != browser.id })
    }

    @Test func `parts of another length are refused, and an account without keys has none to give`() async throws {
        let device = try await signIn()
        await expect(.itemNotFound) { _ = try await ask(device) }
        let old = try await signInWithKeys("eve@example.com")
        let new = try await signIn("eve@example.com")
        await expect(.badRequest) { _ = try await requests.create(commitment: [1], by: new.sender, address: "") }
        _ = try await ask(new)
        await expect(.badRequest) { try await requests.answer(new.id, nonce: [1], by: old.sender) }
        await expect(.badRequest) { try await requests.approve(new.id, sealed: [], by: old.sender) }
        await expect(.badRequest) {
            try await requests.approve(new.id, sealed: [UInt8](repeating: 0, count: 257), by: old.sender)
        }
    }
}
