import CloudKitModel
import CloudKitServer
import OrderedStore
import Synchronization

/// A book of accounts in memory, with a clock that is set by hand and chance that repeats itself.
struct TestPeople {
    let clock = TestClock()
    let surroundings: Surroundings
    let book: Book
    let container = ContainerID("iCloud.com.example.app")

    init() {
        let clock = clock
        let dice = TestDice()
        surroundings = Surroundings(
            secret: [UInt8](repeating: 7, count: 32), now: { clock.now }, random: { dice.roll($0) })
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

/// Stands still until it is moved.
final class TestClock: Sendable {
    private let time = Atomic<Int64>(1_700_000_000_000)

    var now: Int64 { time.load(ordering: .relaxed) }

    func advance(_ milliseconds: Int64) { time.add(milliseconds, ordering: .relaxed) }
}

/// Never the same bytes twice, the same in every run.
final class TestDice: Sendable {
    private let rolls = Mutex<UInt64>(0)

    func roll(_ count: Int) -> [UInt8] {
        let roll = rolls.withLock { rolls -> UInt64 in
            rolls += 1
            return rolls
        }
        return (0..<count).map { index in
            UInt8(truncatingIfNeeded: (roll &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(index) &* 0xBF58_476D_1CE4_E5B9) >> 33)
        }
    }
}
