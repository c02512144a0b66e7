import CloudBackup
import CloudKitClient
import CloudKitServer
import CloudKitTesting
import FileStore
import Foundation
import OrderedStore
import OrderedStoreSQLite
import Synchronization

/// A cloud on a disk, inside the test process, that is backed up while it runs and is restored to any of its moments.
final class RestorableCloud {
    private let folder: String
    /// The folder that is served: another one after each restoration.
    private var generation = 0
    private var store: SQLiteStore
    private var running: RunningCloud
    private let apiToken: String

    private static let container = "iCloud.com.example.restored"
    private static let immutableFiles = "assets/files"
    private static let storeName = "welkin.sqlite"

    /// Runs a body with an empty cloud.
    static func run<Value>(_ body: (RestorableCloud) async throws -> Value) async throws -> Value {
        let cloud = try await RestorableCloud()
        do {
            let value = try await body(cloud)
            await cloud.end()
            return value
        } catch {
            await cloud.end()
            throw error
        }
    }

    private init() async throws {
        folder = FileManager.default.temporaryDirectory.path + "/welkin-restorable-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder + "/0", withIntermediateDirectories: true)
        let now: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }
        store = try SQLiteStore(path: folder + "/0/" + Self.storeName)
        let storage = try CloudStorage(
            now: now, store: store, files: try FolderFileStore(folder + "/0/assets", now: now))
        running = try await RunningCloud.start(storage)
        apiToken = try await running.makeAPIToken(of: Self.container)
    }

    private func end() async {
        await running.stop()
        await store.close()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// The cloud as it is now, for users and their devices.
    var present: ThrowawayCloud {
        ThrowawayCloud(running: running, container: Self.container, apiToken: apiToken, kind: .native)
    }

    /// The network of a device, which finds the cloud wherever it is now.
    func network(over transport: any Transport = HTTPTransport.shared) -> any Transport {
        FollowingTransport(address: running.storage.address, base: transport)
    }

    /// Adds a moment to the backup.
    ///
    /// - Returns: The name of the moment.
    func backUp() async throws -> String { try await backUpOfPresent() }

    /// Adds a moment of the cloud as it is served now; may run at the same time as anything but a restoration.
    var backUpOfPresent: @Sendable () async throws -> String {
        let place = "\(folder)/\(generation)"
        let backup = folder + "/backup"
        return {
            try await withCheckedThrowingContinuation { continuation in
                Thread.detachNewThread {
                    continuation.resume(with: Result { try Self.backUp(place, to: backup) })
                }
            }
        }
    }

    private static func backUp(_ place: String, to path: String) throws -> String {
        let backup = try Backup.begin(path)
        let now = { Int64(Date().timeIntervalSince1970 * 1000) }
        let start = now()
        let hold = FileHold(place + "/assets")
        defer { withExtendedLifetime(hold) {} }
        return try SQLiteStore.withState(path: place + "/" + storeName) { state in
            try TakeMoment(backup, now: now).run(
                StateImage(state: state), BackupSource(folder: place, immutableFiles: immutableFiles, files: []),
                at: start, program: "test"
            ).name
        }
    }

    /// Stops the cloud, whatever is under way, and goes on with an earlier moment in a new folder.
    func restore(_ moment: String) async throws {
        await running.stopServing()
        await store.close()
        generation += 1
        let place = "\(folder)/\(generation)"
        let backup = try Backup.open(folder + "/backup")
        let manifest = try backup.manifest(moment)
        try await RestoreMoment(backup).run(
            manifest, to: place, storeName: Self.storeName, immutableFiles: Self.immutableFiles
        ) { draft in try SQLiteStore.renewEpoch(path: draft + "/" + Self.storeName) }
        store = try SQLiteStore(path: place + "/" + Self.storeName)
        let now = running.storage.serverEnvironment.now
        let storage = running.storage.continued(
            on: store, files: try FolderFileStore(place + "/assets", now: now))
        running = try await RunningCloud.start(storage) { [store] cloud in
            try await ContinueFromEarlierState(cloud).run(
                restoredTo: manifest.time, partitions: try await store.partitionNames())
        }
    }

    /// The problems that a check of the whole store finds.
    func problems() async throws -> [String] {
        let found = FoundProblems()
        _ = try await CheckStore(present.cloud) { found.add("\($0.place): \($0.problem)") }
            .run(partitions: try await store.partitionNames())
        return found.all
    }
}

private final class FoundProblems: Sendable {
    private let problems = Mutex<[String]>([])

    var all: [String] { problems.withLock { $0 } }

    func add(_ problem: String) { problems.withLock { $0.append(problem) } }
}

private struct StateImage: StoreImage {
    let state: StoreState

    var byteCount: Int64 { state.byteCount }
    var facts: StoreFacts { StoreFacts(storeID: state.inspection.storeID, epoch: state.inspection.epoch) }

    func bytes(at offset: Int64, count: Int) throws -> [UInt8] { try state.bytes(at: offset, count: count) }
}

/// Sends requests to the port at which a cloud listens now.
private struct FollowingTransport: Transport {
    let address: ServerAddress
    let base: any Transport

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        guard let url = address.current(request.url) else { throw TransportFailure.unreachable }
        var request = request
        request.url = url
        return try await base.send(request)
    }
}
