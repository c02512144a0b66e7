import CloudKitDevice
import CloudKitHTTP
import CloudKitModel
import CloudKitServer
import Logging
import OrderedStore
import ServiceLifecycle

/// One start of a cloud's server: its rules and its port.
package struct RunningCloud: Sendable {
    package let holdings: CloudHoldings
    package let cloud: Cloud
    package let endpoint: String
    private let group: ServiceGroup
    private let service: Task<Void, any Error>
    private let outbox: Task<Void, Never>

    /// Passwords of test accounts need not withstand anybody.
    package static let rounds = 10

    /// Listens where the cloud did before, if nobody else took the port meanwhile.
    package static func start(_ holdings: CloudHoldings) async throws -> RunningCloud {
        if let port = holdings.address.firstPort, let again = try? await start(holdings, port: port) { return again }
        return try await start(holdings, port: 0)
    }

    private static func start(_ holdings: CloudHoldings, port: Int) async throws -> RunningCloud {
        let cloud = Cloud(store: holdings.store, files: holdings.files, surroundings: holdings.surroundings)
        let logger = Logger(label: "welkin.testing") { _ in SwiftLogNoOpLogHandler() }
        let application = CloudApplication(
            cloud: cloud, configuration: CloudConfiguration(port: port), logger: logger, memoryLifetime: 0,
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
        holdings.address.set(number)
        let commits = holdings.store.commits()
        return RunningCloud(
            holdings: holdings, cloud: cloud, endpoint: "http://127.0.0.1:\(number)", group: group, service: service,
            outbox: Task {
                // A failure comes again with the next commit, and `settle` shows it to the test.
                for await _ in commits { while (try? await RunOutbox(cloud).run()) == true {} }
            })
    }

    /// Where devices are told to find the cloud: what their credentials and links name, whatever the port is now.
    var devicesEndpoint: String { "http://127.0.0.1:\(holdings.address.firstPort ?? 0)" }

    /// Where devices keep their profiles.
    var profilesFolder: String { DeviceConfiguration.profilesFolder(variables: ["XDG_DATA_HOME": holdings.dataHome]) }

    /// Ends the server; what it holds stays. Requests under way are answered first.
    func stopServing() async {
        holdings.address.set(nil)
        outbox.cancel()
        await group.triggerGracefulShutdown()
        try? await service.value
    }

    package func stop() async {
        await stopServing()
        holdings.discard()
    }

    package var book: Book { .accounts(in: holdings.store) }

    /// An account with a password of its own.
    struct TestAccount: Sendable {
        var email: String
        var password: String
        var id: String
    }

    func addAccount(named name: String) async throws -> TestAccount {
        let accounts = Accounts(book: book, surroundings: cloud.surroundings)
        let puzzle = accounts.newPuzzle(rounds: Self.rounds)
        let email = name + "@example.com"
        let password = "password of \(name)"
        let proof = try PasswordProof(password: password, salt: puzzle.salt, rounds: puzzle.rounds)
        let account = try await accounts.add(email: email, name: name, proof: proof.bytes, puzzle: puzzle)
        return TestAccount(email: email, password: password, id: account.id)
    }

    package func makeAPIToken(of container: String) async throws -> String {
        let tokens = APITokens(book: book, surroundings: cloud.surroundings)
        return try await tokens.create(
            container: ContainerID(container), environment: .development, name: "tests"
        ).token
    }

    /// The name by which a container knows an account.
    func user(_ account: TestAccount, in container: String) async throws -> UserID {
        try await UserNames(book: book, surroundings: cloud.surroundings)
            .name(of: account.id, in: ContainerID(container))
    }

    func setDisabled(_ isDisabled: Bool, _ account: TestAccount) async throws {
        try await Accounts(book: book, surroundings: cloud.surroundings).setDisabled(isDisabled, email: account.email)
    }

    func endSession(ofDevice id: String) async throws { try await DeviceSessions(book: book).end(id) }
}
