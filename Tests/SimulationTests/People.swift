import CloudKitModel
import CloudKitServer

/// Those who take part: each with an account and devices.
struct People {
    static let names = ["ada", "ben", "cat", "dan"]
    /// How many devices each has.
    static let devices = [2, 2, 1, 1]
    static let zones = [Place(owner: 0, zone: "Notes"), Place(owner: 0, zone: "Work"), Place(owner: 1, zone: "Notes")]

    private(set) var users: [UserID] = []
    private(set) var accounts: [AccountKeys] = []

    func person(_ user: UserID) -> Int? { users.firstIndex(of: user) }

    /// Opens the accounts of all, with their keychains.
    init(in world: SimulatedCloud) async throws {
        let book = Book.accounts(in: world.store)
        let surroundings = world.time.surroundings
        let guesses = ProofGuard(roundsMin: 1)
        let register = Accounts(book: book, surroundings: surroundings)
        let token = try await APITokens(book: book, surroundings: surroundings).create(
            container: SimulatedCloud.container, environment: .development, name: "")
        let place = DeviceSignIn.Place(
            container: SimulatedCloud.container, environment: .development, apiToken: token.row)
        for (person, name) in Self.names.enumerated() {
            let email = name + "@example.com"
            _ = try await register.add(
                email: email, name: name, proof: Self.proof, puzzle: register.newPuzzle(rounds: 1))
            let grant = try await DeviceSignIn(book: book, surroundings: surroundings, guesses: guesses).create(
                email: email, proof: Self.proof, deviceName: "", lifetime: .device, place: place, address: "")
            let keys = try AccountKeys(seed: UInt64(person + 1))
            _ = try await Keychains(book: book, surroundings: surroundings, guesses: guesses).create(
                KeychainOffer(
                    passwordWrap: [1], recovery: RecoveryOffer(wrap: [1], proof: Self.proof), identity: keys.identity),
                by: DeviceKey(id: grant.deviceID, secret: grant.deviceSecret ?? []))
            users.append(grant.user)
            accounts.append(keys)
        }
    }

    private static let proof = Array(repeating: UInt8(1), count: 32)
}
