import CloudKitAccounts
import CloudKitHTTP
import CloudKitModel
import CloudKitServer
import FileStore
import Logging
import OrderedStore
import Synchronization
import Testing

@testable import welkin

/// The worker that deletes accounts while the cloud runs, with a clock that the test sets.
@Suite(.timeLimit(.minutes(5))) struct AccountDeletionWorkerTests {
    private static let proof = [UInt8](repeating: 1, count: 32)
    private static let day: Int64 = 86_400_000

    /// The pauses of the worker: each begins, and ends when the test says so.
    private struct Pauses: Sendable {
        let begun = AsyncStream.makeStream(of: Duration.self)
        let ended = AsyncStream.makeStream(of: Void.self)

        func wait(_ time: Duration) async {
            begun.continuation.yield(time)
            for await _ in ended.stream { return }
        }
    }

    @Test func `due accounts go when the clock passes, and not before`() async throws {
        let clock = Mutex<Int64>(1_790_000_000_000)
        let pauses = Pauses()
        let environment = ServerEnvironment(
            secret: [UInt8](repeating: 7, count: 32), now: { clock.withLock { $0 } },
            random: ServerEnvironment.systemRandom, sleep: { await pauses.wait($0) })
        let cloud = Cloud(
            store: MemoryStore(), files: MemoryFileStore(now: { clock.withLock { $0 } }),
            serverEnvironment: environment,
            limits: Limits())
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let application = CloudApplication(
            cloud: cloud, configuration: CloudConfiguration(port: 0), logger: logger, rounds: 1)
        let store = cloud.accountStore
        func deletion(_ name: String, in days: Int64) async throws {
            _ = try await store.accounts.add(
                email: "\(name)@example.com", name: name, proof: Self.proof,
                derivation: store.accounts.newDerivation(rounds: 1))
            let container = ContainerID("iCloud.com.example.app")
            let token = try await store.apiTokens.create(
                container: container, environment: .development, name: "test")
            let grant = try await DeviceSignIn(store: store).create(
                email: "\(name)@example.com", proof: Self.proof, deviceName: "Test", lifetime: .device,
                place: .init(container: container, environment: .development, apiToken: token.row), address: "192.0.2.1"
            )
            _ = try await store.deletions.request(
                by: .device(DeviceKey(id: grant.deviceID, secret: grant.deviceSecret ?? [])),
                proof: .password(Self.proof), grace: days * Self.day, address: "192.0.2.1", ProofLimiter())
        }
        func names() async throws -> [String] { try await store.accounts.list().map(\.name).sorted() }
        try await deletion("soon", in: 1)
        try await deletion("later", in: 30)
        let worker = AccountDeletionWorker(cloud: cloud, application: application, log: nil, logger: logger)
        let running = Task { await worker.run() }
        var begun = pauses.begun.stream.makeAsyncIterator()
        #expect(await begun.next() == .seconds(60))
        #expect(try await names() == ["later", "soon"])
        func round(after milliseconds: Int64) async {
            clock.withLock { $0 += milliseconds }
            pauses.ended.continuation.yield()
            _ = await begun.next()
        }
        await round(after: Self.day - 1)
        #expect(try await names() == ["later", "soon"])
        await round(after: 1)
        #expect(try await names() == ["later"])
        await round(after: 29 * Self.day - 1)
        #expect(try await names() == ["later"])
        await round(after: 1)
        #expect(try await names().isEmpty)
        running.cancel()
        pauses.ended.continuation.finish()
        await running.value
    }
}
