import CloudKitDevice
import CloudKitHTTP
import CloudKitModel
import CloudKitServer
import FileStore
import Foundation
import Logging
import OrderedStore
import ServiceLifecycle

/// One start of a cloud: its rules, its port, its temporary folder.
struct RunningCloud: Sendable {
    let cloud: Cloud
    let endpoint: String
    /// Holds everything that devices keep.
    let dataHome: String
    private let book: Book
    private let group: ServiceGroup
    private let service: Task<Void, any Error>
    private let outbox: Task<Void, Never>

    /// Passwords of test accounts need not withstand anybody.
    static let rounds = 10

    static func start(_ clock: TestClock) async throws -> RunningCloud {
        let store = MemoryStore(epoch: .random(in: 1 ... .max))
        let surroundings = Surroundings(secret: Surroundings.systemRandom(32), now: { clock.milliseconds })
        let files = MemoryFileStore(now: { clock.milliseconds })
        let cloud = Cloud(store: store, files: files, surroundings: surroundings)
        let logger = Logger(label: "welkin.testing") { _ in SwiftLogNoOpLogHandler() }
        let application = CloudApplication(
            cloud: cloud, configuration: CloudConfiguration(port: 0), logger: logger, memoryLifetime: 0, rounds: rounds)
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let listener = try application.service(listening: { port.yield($0) })
        let group = ServiceGroup(configuration: .init(services: [.init(service: listener)], logger: logger))
        let service = Task {
            defer { port.finish() }
            try await group.run()
        }
        guard let number = await ports.first(where: { _ in true }) else {
            try await service.value
            throw CancellationError()
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: "welkin-testing-\(UUID().uuidString)")
        try PrivateFile.makeFolder(folder.path(percentEncoded: false))
        let commits = store.commits()
        return RunningCloud(
            cloud: cloud, endpoint: "http://127.0.0.1:\(number)", dataHome: folder.path(percentEncoded: false),
            book: .accounts(in: store), group: group, service: service,
            outbox: Task {
                // A failure comes again with the next commit, and `settle` shows it to the test.
                for await _ in commits { while (try? await cloud.runOutbox()) == true {} }
            })
    }

    /// Where devices keep their profiles.
    var profilesFolder: String { DeviceConfiguration.profilesFolder(variables: ["XDG_DATA_HOME": dataHome]) }

    func stop() async {
        outbox.cancel()
        await group.triggerGracefulShutdown()
        try? await service.value
        try? FileManager.default.removeItem(atPath: dataHome)
    }

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

    func makeAPIToken(of container: String) async throws -> String {
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
