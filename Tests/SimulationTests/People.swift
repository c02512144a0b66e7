import CloudKitModel
import CloudKitServer

/// Those who take part: each with an account and devices.
struct People {
    static let names = ["ada", "ben", "cat", "dan"]
    /// How many devices each has.
    static let devices = [2, 2, 1, 1]
    static let zones = [Place(owner: 0, zone: "Notes"), Place(owner: 0, zone: "Work"), Place(owner: 1, zone: "Notes")]

    private(set) var users: [UserID] = []

    func person(_ user: UserID) -> Int? { users.firstIndex(of: user) }

    /// Opens the accounts of all.
    init(in world: SimulatedCloud) async throws {
        let book = Book.accounts(in: world.store)
        let accounts = Accounts(book: book, surroundings: world.time.surroundings)
        let userNames = UserNames(book: book, surroundings: world.time.surroundings)
        for name in Self.names {
            let account = try await accounts.add(
                email: name + "@example.com", name: name, proof: Array(repeating: 1, count: 32),
                puzzle: accounts.newPuzzle(rounds: 1))
            users.append(try await userNames.name(of: account.id, in: SimulatedCloud.container))
        }
    }
}
