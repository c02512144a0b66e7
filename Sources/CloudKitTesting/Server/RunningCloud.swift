import CloudKitAccounts
import CloudKitDevice
import CloudKitHTTP
import CloudKitModel
import CloudKitServer
import Logging
import OrderedStore
import ServiceLifecycle

/// A running server of a test cloud.
package struct RunningCloud: Sendable {
    /// The state that outlives this server.
    package let storage: CloudStorage
    /// The cloud that the server serves.
    package let cloud: Cloud
    /// The scheme, host and port at which the server listens.
    package let endpoint: String
    private let group: ServiceGroup
    private let service: Task<Void, any Error>
    private let outbox: Task<Void, Never>

    /// The rounds of key derivation; few, because test passwords need no protection.
    package static let rounds = 10

    /// Starts the server, on its former port if that is still free.
    ///
    /// - Parameters:
    ///   - isStrict: Whether everything that documented web services do not have is refused.
    ///   - prepare: Called with the cloud before it is served.
    package static func start(
        _ storage: CloudStorage, isStrict: Bool = false, prepare: (Cloud) async throws -> Void = { _ in }
    ) async throws -> RunningCloud {
        let cloud = Cloud(
            store: storage.store, files: storage.files, serverEnvironment: storage.serverEnvironment,
            limits: storage.limits)
        try await prepare(cloud)
        if let port = storage.address.firstPort,
            let restarted = try? await start(cloud, storage, port: port, isStrict: isStrict)
        {
            return restarted
        }
        return try await start(cloud, storage, port: 0, isStrict: isStrict)
    }

    private static func start(
        _ cloud: Cloud, _ storage: CloudStorage, port: Int, isStrict: Bool
    ) async throws -> RunningCloud {
        let logger = Logger(label: "welkin.testing") { _ in SwiftLogNoOpLogHandler() }
        let application = CloudApplication(
            cloud: cloud, configuration: CloudConfiguration(port: port, isStrictWebServices: isStrict), logger: logger,
            cacheLifetime: 0,
            rounds: rounds)
        let (numbers, opened) = AsyncStream.makeStream(of: Int.self)
        let listener = try application.service(listening: { opened.yield($0) })
        let group = ServiceGroup(configuration: .init(services: [.init(service: listener)], logger: logger))
        let service = Task {
            defer { opened.finish() }
            try await group.run()
        }
        guard let number = await numbers.first(where: { _ in true }) else {
            try await service.value
            throw CancellationError()
        }
        storage.address.set(number)
        let commits = storage.store.commits()
        return RunningCloud(
            storage: storage, cloud: cloud, endpoint: "http://127.0.0.1:\(number)", group: group, service: service,
            outbox: Task {
                // A failure recurs with the next commit, and `settle` reports it to the test.
                for await _ in commits {
                    while (try? await RunOutbox(cloud).run()) == true {}
                    while (try? await FinishIndexBuilds(cloud).runWaiting()) == true {}
                }
            })
    }

    /// The address in the devices' credentials and links, which does not change with the port.
    var devicesEndpoint: String { "http://127.0.0.1:\(storage.address.firstPort ?? 0)" }

    /// The folder of the devices' profiles.
    var profilesFolder: String { DeviceConfiguration.profilesFolder(variables: ["XDG_DATA_HOME": storage.dataHome]) }

    /// Stops the server after the requests in flight; the storage stays.
    package func stopServing() async {
        storage.address.set(nil)
        outbox.cancel()
        await group.triggerGracefulShutdown()
        try? await service.value
    }

    /// Stops the server and removes the storage.
    package func stop() async {
        await stopServing()
        storage.discard()
    }

    /// Accounts, sessions, tokens and keychains of the cloud.
    package var accountStore: AccountStore { cloud.accountStore }

    /// An account with its password.
    struct TestAccount: Sendable {
        var email: String
        var password: String
        var id: String
    }

    func addAccount(named name: String) async throws -> TestAccount {
        let accounts = accountStore.accounts
        let derivation = accounts.newDerivation(rounds: Self.rounds)
        let email = name + "@example.com"
        let password = "password of \(name)"
        let proof = try PasswordProof(password: password, salt: derivation.salt, rounds: derivation.rounds)
        let account = try await accounts.add(email: email, name: name, proof: proof.bytes, derivation: derivation)
        return TestAccount(email: email, password: password, id: account.id)
    }

    /// Creates an API token for a container.
    package func makeAPIToken(
        of container: String, _ environment: CloudKitModel.Environment = .development
    ) async throws -> String {
        let tokens = accountStore.apiTokens
        return try await tokens.create(
            container: ContainerID(container), environment: environment, name: "tests"
        ).token
    }

    /// Makes the cloud accept an API token for a container.
    func addAPIToken(
        _ token: String, of container: String, _ environment: CloudKitModel.Environment
    ) async throws {
        try await accountStore.apiTokens.add(
            token, container: ContainerID(container), environment: environment, name: "tests")
    }

    /// Returns the user of an account in a container.
    func user(_ account: TestAccount, in container: String) async throws -> UserID {
        try await accountStore.userNames
            .name(of: account.id, in: ContainerID(container))
    }

    func setDisabled(_ isDisabled: Bool, _ account: TestAccount) async throws {
        try await accountStore.accounts.setDisabled(isDisabled, email: account.email)
    }

    func endSession(ofDevice id: String) async throws { try await accountStore.sessions.end(id) }
}
