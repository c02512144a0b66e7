import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import FileStore
import Foundation
import OrderedStore
import OrderedStoreSQLite
import PostgresServer
import SeededChance
import Synchronization

/// The storage engines.
enum Engine: String, Sendable {
    case memory, sqlite, postgres
}

/// A clock that the test sets, and random numbers from a seed.
final class SimulatedTime: Sendable {
    private let state: Mutex<(now: Int64, chance: SplitMix64)>

    init(seed: UInt64) { state = Mutex((1_700_000_000_000, SplitMix64(seed: seed))) }

    /// Milliseconds since 1970.
    var now: Int64 { state.withLock(\.now) }

    /// - Parameter milliseconds: The change of the clock, possibly negative.
    func jump(_ milliseconds: Int64) { state.withLock { $0.now += milliseconds } }

    var serverEnvironment: ServerEnvironment {
        ServerEnvironment(
            secret: Array(repeating: 7, count: 32), now: { self.now },
            random: { count in
                self.state.withLock { state in
                    (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &state.chance) }
                }
            })
    }
}

/// The real server and record layer on a real engine, which can be restarted.
final class SimulatedCloud {
    static let container = ContainerID("iCloud.com.example.simulation")

    let time: SimulatedTime
    private let folder: URL?
    private let files: any FileStore
    private(set) var store: any OrderedStore
    private(set) var cloud: Cloud

    init(_ engine: Engine, seed: UInt64) async throws {
        let time = SimulatedTime(seed: seed)
        self.time = time
        switch engine {
        case .memory:
            folder = nil
            store = MemoryStore(epoch: 7)
            files = MemoryFileStore(now: { time.now })
        case .sqlite:
            let folder = FileManager.default.temporaryDirectory.appending(path: "welkin-sim-" + UUID().uuidString)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            self.folder = folder
            store = try SQLiteStore(path: Self.file(in: folder))
            files = try FolderFileStore(folder.appending(path: "assets").path(), now: { time.now })
        case .postgres:
            folder = nil
            store = try await StoreUnderTest.postgres()
            files = MemoryFileStore(now: { time.now })
        }
        cloud = Cloud(store: store, files: files, serverEnvironment: time.serverEnvironment)
    }

    private static func file(in folder: URL) -> String { folder.appending(path: "store.db").path() }

    /// Restarts the cloud with its stored data.
    func restart() async throws {
        if let folder, let open = store as? SQLiteStore {
            await open.close()
            store = try SQLiteStore(path: Self.file(in: folder))
        }
        cloud = Cloud(store: store, files: files, serverEnvironment: time.serverEnvironment)
    }

    func close() async {
        await (store as? any PersistentStore)?.close()
        guard let folder else { return }
        try? FileManager.default.removeItem(at: folder)
    }

    /// All encrypted files, ordered by name.
    func fileIDs() async throws -> [FileID] {
        var ids: [FileID] = []
        for folder in UInt8.min ... .max { ids += try await files.files(inFolder: folder).map(\.id) }
        return ids.sorted { $0.name < $1.name }
    }

    func address(_ scope: DatabaseScope) -> DatabaseAddress {
        DatabaseAddress(container: Self.container, environment: .development, scope: scope)
    }
}
