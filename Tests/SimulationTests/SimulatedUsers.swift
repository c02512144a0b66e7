import CloudKitAccounts
import CloudKitModel
import CloudKitServer

/// The users of a simulation: each with an address, and at some time an account and devices.
struct SimulatedUsers {
    static let names = ["ada", "ben", "cat", "dan", "eve"]
    /// The number of devices of each user.
    static let devices = [2, 2, 1, 1, 1]
    /// The number of users with an account from the beginning; the others may be invited before they have one.
    static let founders = 4
    static let zones = [Place(owner: 0, zone: "Notes"), Place(owner: 0, zone: "Work"), Place(owner: 1, zone: "Notes")]

    /// The users who have an account.
    private(set) var users: [UserID] = []
    private(set) var accounts: [AccountKeys] = []
    /// The counter that makes every account's keys unique.
    private var keychains: UInt64 = 0

    static func email(_ person: Int) -> String { names[person] + "@example.com" }

    func person(_ user: UserID) -> Int? { users.firstIndex(of: user) }

    /// Returns a user by account, or by the invited address.
    func person(_ identity: PersonIdentity) -> Int? {
        identity.user.flatMap(person) ?? Self.person(identity.lookup?.emailAddress)
    }

    func person(_ change: ParticipantChange) -> Int? {
        change.user.flatMap(person) ?? Self.person(change.lookup?.emailAddress)
    }

    private static func person(_ email: String?) -> Int? { names.indices.first { Self.email($0) == email } }

    init(in world: SimulatedCloud) async throws {
        for _ in 0..<Self.founders { try await signUp(in: world) }
    }

    /// Creates the account and keychain of the next user without one.
    ///
    /// - Returns: The user; nil if all have accounts.
    @discardableResult
    mutating func signUp(in world: SimulatedCloud) async throws -> Int? {
        let person = users.count
        guard person < Self.names.count else { return nil }
        let register = world.cloud.accountStore.accounts
        _ = try await register.add(
            email: Self.email(person), name: Self.names[person], proof: Self.proof,
            derivation: register.newDerivation(rounds: 1))
        let (user, device) = try await signIn(person, in: world)
        let keys = try newKeys()
        _ = try await Self.keychains(world).create(Self.offer(keys), by: device)
        users.append(user)
        accounts.append(keys)
        return person
    }

    /// Resets the keys of a user who has lost all devices and recovery words.
    mutating func resetKeychain(of person: Int, in world: SimulatedCloud) async throws {
        let device = try await signIn(person, in: world).device
        let keys = try newKeys()
        let generation = try await Self.keychains(world).status(for: device).generation
        _ = try await Self.keychains(world).reset(
            to: Self.offer(keys), replacing: generation, proof: .password(Self.proof), by: device, address: "")
        accounts[person] = keys
    }

    private mutating func newKeys() throws -> AccountKeys {
        keychains += 1
        return try AccountKeys(seed: keychains)
    }

    private func signIn(_ person: Int, in world: SimulatedCloud) async throws -> (user: UserID, device: DeviceKey) {
        let store = world.cloud.accountStore
        let token = try await store.apiTokens.create(
            container: SimulatedCloud.container, environment: .development, name: "")
        let place = DeviceSignIn.Place(
            container: SimulatedCloud.container, environment: .development, apiToken: token.row)
        let grant = try await DeviceSignIn(store: store, proofGuard: ProofLimiter(roundsMin: 1))
            .create(
                email: Self.email(person), proof: Self.proof, deviceName: "", lifetime: .device, place: place,
                address: "")
        return (grant.user, DeviceKey(id: grant.deviceID, secret: grant.deviceSecret ?? []))
    }

    private static func keychains(_ world: SimulatedCloud) -> Keychains {
        world.cloud.accountStore.keychains(ProofLimiter(roundsMin: 1))
    }

    private static func offer(_ keys: AccountKeys) -> KeychainUpload {
        KeychainUpload(
            passwordWrap: [1], recovery: RecoveryUpload(wrap: [1], proof: proof), identity: keys.identity)
    }

    private static let proof = Array(repeating: UInt8(1), count: 32)
}
