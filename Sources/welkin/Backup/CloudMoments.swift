import CloudBackup
import CloudKitDevice
import CloudKitHTTP
import CloudKitServer
import FileStore
import Foundation
import OrderedStoreSQLite

/// What of a data folder belongs to a moment of its backup, and how a moment is taken and restored.
struct CloudMoments {
    /// The data folder.
    var folder: String

    private static let assets = "assets"
    /// The folders of the sealed files of assets.
    static let immutableFiles = assets + "/files"
    static let storeName = "welkin.sqlite"

    /// The folder with the writing keys of backups that are sealed to a recipient.
    static func writingKeys(in folder: String) -> String { folder + "/backup-keys" }

    /// Files that say what this process, this machine or this run is doing, and the log of requests.
    private static let excluded: Set = ["served", "serve.lock", "write-probe", storeName, "logs.sqlite"]

    /// Takes a moment, while the cloud runs or not. Waits for the disk.
    ///
    /// - Parameters:
    ///   - backup: The backup, opened with `begin`.
    ///   - stream: The changes that are sent meanwhile; nil: none are.
    ///   - isCancelled: Asked between files and chunks.
    /// - Throws: `BackupError`, `StoreError`, `CancellationError`.
    func take(
        into backup: Backup, beside stream: ChangeStream? = nil, isCancelled: @escaping () -> Bool = { false }
    ) throws -> BackupManifest {
        try check(backup: backup.place)
        guard let hold = FileHold(folder + "/" + Self.assets) else {
            throw BackupError(
                .busy, reason: "another backup of this cloud is under way", remedy: "wait until it has finished",
                details: ["path": folder])
        }
        defer { withExtendedLifetime(hold) {} }
        // Before the state is chosen: what was saved later than this time may be missing in it.
        let time = Self.now()
        let source = try source()
        let position = stream.map { ChangePositionSearch($0, now: Self.now) }
        return try SQLiteStore.withState(path: storePath) { state in
            position?.stateChosen()
            let moment = TakeMoment(backup, now: Self.now) {
                position?.look()
                return isCancelled()
            }
            return try moment.run(
                StoreStateImage(state: state), source, at: time, program: BuildVersion.text,
                position: { try position?.found(isCancelled: isCancelled) })
        }
    }

    /// The path of the store's file.
    var storePath: String { folder + "/" + Self.storeName }

    /// Returns what belongs to a moment beside the store.
    func source() throws -> BackupSource {
        BackupSource(folder: folder, immutableFiles: Self.immutableFiles, files: try fileNames())
    }

    /// Refuses a backup inside the data folder, which would be lost with it, and the reverse.
    func check(backup place: any BackupPlace) throws { try Self.check(place, isApartFrom: folder) }

    /// Runs `work` on a thread of its own, which may wait for the disk.
    static func onThread<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result(catching: work)) }
        }
    }

    /// Restores a moment into an empty folder, as a store with a new epoch.
    ///
    /// - Parameter plan: Changes to apply; nil: none.
    static func restore(
        _ manifest: BackupManifest, applying plan: ChangePlan? = nil, from backup: Backup, to folder: String
    ) async throws {
        try check(backup.place, isApartFrom: folder)
        umask(0o077)
        try await RestoreMoment(backup).run(
            manifest, to: folder, storeName: storeName, immutableFiles: immutableFiles, applying: plan
        ) { draft in
            let path = draft + "/" + storeName
            try SQLiteStore.renewEpoch(path: path)
            let moments = CloudMoments(folder: draft)
            try await moments.continueFromEarlierState(restoredTo: plan?.time ?? manifest.time)
            let inspection = try SQLiteStore.inspect(path: path)
            // So that the start knows this state as the one that is to be served.
            try ServedFile(
                storeID: inspection.storeID, epoch: inspection.epoch, mark: inspection.servedMark
            ).write(in: draft)
        }
    }

    private func continueFromEarlierState(restoredTo: Int64) async throws {
        try await DataFolder.with(path: folder, rows: .any) { folder in
            // The moment stays as it is: it is the backup of what the upgrade changes.
            try await folder.upgradeRows()
            try await folder.continueFromEarlierState(restoredTo: restoredTo)
        }
    }

    /// The files beside the store and the assets: the secret, keys, settings.
    private func fileNames() throws -> [String] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        return names.filter { name in
            let isOfOpenFile = ["-wal", "-shm", "-journal", ".new"].contains { name.hasSuffix($0) }
            return !Self.excluded.contains(name) && !isOfOpenFile
                && FileStamp(path: folder + "/" + name)?.isRegular == true
        }.sorted()
    }

    private static func check(_ place: any BackupPlace, isApartFrom folder: String) throws {
        guard let place = place as? FolderPlace else { return }
        let backup = resolved(place.address) + "/"
        let folder = resolved(folder) + "/"
        guard !backup.hasPrefix(folder), !folder.hasPrefix(backup) else {
            throw BackupError(
                .insideData, reason: "the backup and the data folder lie one in the other",
                remedy: "name a folder on another disk, outside of the data folder", details: ["path": backup])
        }
    }

    private static func resolved(_ path: String) -> String {
        URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    }

    private static let now: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }
}

/// A store's state as a backup reads it.
private struct StoreStateImage: StoreImage {
    let state: StoreState

    var byteCount: Int64 { state.byteCount }
    var facts: StoreFacts { StoreFacts(storeID: state.inspection.storeID, epoch: state.inspection.epoch) }

    func bytes(at offset: Int64, count: Int) throws -> [UInt8] { try state.bytes(at: offset, count: count) }
}
