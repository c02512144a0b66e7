import CloudKitModel
import CloudKitServer
import OrderedStore

/// A book of accounts in memory, with a clock that is set by hand and chance that repeats itself.
struct TestPeople {
    let clock = TestSurroundings()
    let surroundings: Surroundings
    let book: Book
    let container = ContainerID("iCloud.com.example.app")

    init() {
        surroundings = clock.surroundings
        book = .accounts(in: MemoryStore())
    }

    var accounts: Accounts { Accounts(book: book, surroundings: surroundings) }
    var tokens: APITokens { APITokens(book: book, surroundings: surroundings) }
    var keys: ServerKeys { ServerKeys(book: book, surroundings: surroundings) }
    var signIn: DeviceSignIn { DeviceSignIn(book: book, surroundings: surroundings) }

    /// Proves itself with 32 times the byte 1.
    static let proof = [UInt8](repeating: 1, count: 32)

    @discardableResult
    func addAda() async throws -> Account {
        try await accounts.add(
            email: "ada@example.com", name: "Ada", proof: Self.proof, puzzle: accounts.newPuzzle(rounds: 1))
    }

    /// A place for sign-ins and the token that opens it.
    func place(
        _ container: String = "iCloud.com.example.app", _ environment: Environment = .development
    ) async throws -> (place: DeviceSignIn.Place, token: String) {
        let (token, row) = try await tokens.create(
            container: ContainerID(container), environment: environment, name: "")
        return (DeviceSignIn.Place(container: ContainerID(container), environment: environment, apiToken: row), token)
    }

    func authenticator(memoryLifetime: Int64 = 0) -> Authenticator {
        Authenticator(book: book, surroundings: surroundings, memoryLifetime: memoryLifetime)
    }
}
