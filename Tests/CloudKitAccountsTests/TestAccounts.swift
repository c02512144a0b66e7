import CloudKitAccounts
import CloudKitModel
import OrderedStore
import TestEnvironment

/// Accounts in memory, with a clock that is set by hand and randomness that repeats itself.
struct TestAccounts {
    let clock = TestServerEnvironment()
    let store: AccountStore
    private let storage: MemoryStore
    let container = ContainerID("iCloud.com.example.app")

    /// - Parameters:
    ///   - isShared: Whether the store counts for several nodes.
    ///   - requiresProvedAddresses: Whether e-mail addresses count only where they are proved.
    init(isShared: Bool = false, requiresProvedAddresses: Bool = false) {
        storage = MemoryStore()
        store = AccountStore(
            storage, clock.serverEnvironment, isShared: isShared, requiresProvedAddresses: requiresProvedAddresses)
    }

    var accounts: Accounts { store.accounts }
    var tokens: APITokens { store.apiTokens }
    var keys: ServerKeys { store.serverKeys }
    var signIn: DeviceSignIn { DeviceSignIn(store: store) }

    /// 32 times the byte 1.
    static let proof = [UInt8](repeating: 1, count: 32)

    @discardableResult
    func addAda() async throws -> Account {
        try await accounts.add(
            email: "ada@example.com", name: "Ada", proof: Self.proof, derivation: accounts.newDerivation(rounds: 1))
    }

    /// A place for sign-ins and the token that opens it.
    func place(
        _ container: String = "iCloud.com.example.app", _ environment: Environment = .development
    ) async throws -> (place: DeviceSignIn.Place, token: String) {
        let (token, row) = try await tokens.create(
            container: ContainerID(container), environment: environment, name: "")
        return (DeviceSignIn.Place(container: ContainerID(container), environment: environment, apiToken: row), token)
    }

    func authenticator(cacheLifetime: Int64 = 0) -> Authenticator {
        Authenticator(store: store, cacheLifetime: cacheLifetime)
    }

    /// Returns the stored entries whose keys begin with a text.
    func entries(prefix: String) async throws -> [(key: String, value: [UInt8])] {
        try await storage.read(store.partition) { transaction in
            try await transaction.scan(KeyRange(prefix: Array(prefix.utf8)), limit: .max)
                .map { (String(decoding: $0.key, as: UTF8.self), $0.value) }
        }
    }
}
