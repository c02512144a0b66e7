import CloudKitModel
import IdentityDirectory
import Testing

@testable import CloudKitAccounts

/// The directory as accounts, keychains and devices change it.
@Suite(.timeLimit(.minutes(20))) struct AccountDirectoryTests {
    let people = TestAccounts()
    private var directory: AccountDirectory { people.store.directory }
    private let address = DirectoryLabel.address("ada@example.com")

    private func signIn() async throws -> (device: DeviceKey, user: UserID) {
        if try await people.accounts.account(email: "ada@example.com") == nil { try await people.addAda() }
        let (place, _) = try await people.place()
        let grant = try await people.signIn.create(
            email: "ada@example.com", proof: TestAccounts.proof, deviceName: "Laptop", lifetime: .device, place: place,
            address: "10.0.0.1")
        return (DeviceKey(id: grant.deviceID, secret: try #require(grant.deviceSecret)), grant.user)
    }

    private func makeKeychain(_ device: DeviceKey, identity: [UInt8] = [1, 3]) async throws {
        let offer = KeychainUpload(
            passwordWrap: [1], recovery: RecoveryUpload(wrap: [2], proof: [UInt8](repeating: 4, count: 32)),
            identity: identity)
        _ = try await people.store.keychains(ProofLimiter(roundsMin: 1)).create(offer, by: device)
    }

    /// Looks a label up and verifies all of the answer.
    private func entry(
        _ label: DirectoryLabel, of account: String? = nil
    ) async throws -> DirectoryProof.OpenedEntry? {
        let answer = try await directory.lookup([label], of: account, earlier: [])
        try answer.head.verify(directory.keys)
        let proof = try DirectoryProof(bytes: try #require(answer.proofs.first).bytes)
        return try proof.verify(label, root: answer.head.root, functionKey: directory.keys.function)
    }

    @Test func `an account without keys is provably absent, and present with its keys`() async throws {
        let (device, user) = try await signIn()
        #expect(try await entry(address) == nil)
        try await makeKeychain(device)
        #expect(try await entry(address)?.identity == [1, 3])
        let label = DirectoryLabel.user(user.recordName, container: people.container.name)
        #expect(try await entry(label)?.identity == [1, 3])
        #expect(try await entry(.user(user.recordName, container: "iCloud.other")) == nil)
        #expect(try await entry(.address("bob@example.com")) == nil)
    }

    @Test func `a reset and a removal append versions`() async throws {
        let (device, _) = try await signIn()
        try await makeKeychain(device)
        #expect(try await entry(address)?.version == 1)
        try await people.store.keychains(ProofLimiter(roundsMin: 1)).reset(email: "ada@example.com")
        let reset = try #require(try await entry(address))
        #expect(reset.version == 2)
        #expect(reset.identity.isEmpty)
        let (second, _) = try await signIn()
        try await makeKeychain(second, identity: [5, 5])
        let renewed = try #require(try await entry(address))
        #expect(renewed.version == 3)
        #expect(renewed.identity == [5, 5])
        try await people.accounts.remove(email: "ada@example.com")
        #expect(try await entry(address)?.identity.isEmpty == true)
    }

    @Test func `the account itself sees its devices and others their commitment alone`() async throws {
        let (device, _) = try await signIn()
        try await makeKeychain(device)
        let account = try #require(try await people.accounts.account(email: "ada@example.com")).id
        func devices() async throws -> [DirectoryHash] {
            guard case .shown(let devices, _)? = try await entry(address, of: account)?.devices else { return [] }
            return devices.list.map(\.id)
        }
        #expect(try await devices() == [DirectoryDevice.hash(of: device.id)])
        let (second, _) = try await signIn()
        #expect(Set(try await devices()) == [DirectoryDevice.hash(of: device.id), DirectoryDevice.hash(of: second.id)])
        try await people.store.sessions.end(device.id)
        #expect(try await devices() == [DirectoryDevice.hash(of: second.id)])
        guard case .hidden = try await entry(address, of: "another")?.devices else {
            Issue.record("another account sees the devices")
            return
        }
    }

    @Test func `many changes make one head, and no change makes none`() async throws {
        for name in 0..<20 {
            _ = try await people.accounts.add(
                email: "user\(name)@example.com", name: "", proof: TestAccounts.proof,
                derivation: people.accounts.newDerivation(rounds: 1))
            let (place, _) = try await people.place()
            let grant = try await people.signIn.create(
                email: "user\(name)@example.com", proof: TestAccounts.proof, deviceName: "", lifetime: .device,
                place: place, address: "10.0.0.\(name)")
            try await makeKeychain(DeviceKey(id: grant.deviceID, secret: try #require(grant.deviceSecret)))
        }
        let first = try await directory.lookup([], of: nil, earlier: []).head
        #expect(first.number == 0)
        #expect(first.count == 40)
        #expect(try await directory.lookup([], of: nil, earlier: []).head == first)
    }

    @Test func `an auditor follows the whole history, and earlier heads are proved to be part of it`() async throws {
        let (device, _) = try await signIn()
        try await makeKeychain(device)
        for _ in 0..<6 {
            _ = try await directory.lookup([], of: nil, earlier: [])
            _ = try await signIn()
        }
        var audit = DirectoryAudit(keys: directory.keys)
        let history = try await directory.history(from: 0)
        for entry in history.heads { try audit.follow(entry.head, updates: entry.updates) }
        #expect(audit.head == history.newest)
        #expect(history.newest.number == 6)
        let answer = try await directory.lookup([], of: nil, earlier: [0, 3, 6, 9])
        #expect(answer.earlier.map(\.head.number) == [0, 3, 6])
        for (head, proof) in answer.earlier { try proof.verify(from: head, to: answer.head) }
        #expect(try await directory.history(from: 7).heads.isEmpty)
    }

    @Test func `a look-up of too many labels is refused`() async throws {
        let labels = (0..<33).map { DirectoryLabel.address("\($0)@example.com") }
        await expect(.itemLimitExceeded) { _ = try await directory.lookup(labels, of: nil, earlier: []) }
        await expect(.itemLimitExceeded) {
            _ = try await directory.lookup([], of: nil, earlier: [UInt64](repeating: 0, count: 9))
        }
    }
}
