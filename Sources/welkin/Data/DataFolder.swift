import CloudKitAccounts
import CloudKitDevice
import CloudKitServer
import FileStore
import Foundation
import OrderedStore
import OrderedStorePostgres
import OrderedStoreSQLite

/// The folder of a cloud: its store, the files of assets and its secret, readable only by the owner of the files.
struct DataFolder {
    let path: String
    let store: any PersistentStore
    /// The bytes of assets.
    let files: any FileStore
    /// The place of the files.
    let filesPlace: FilesPlace
    let serverEnvironment: ServerEnvironment
    /// Held while the cloud is served; nil for a command.
    let claim: FileClaim?
    /// The reason for which the store was given another epoch; nil: it was not.
    let renewal: EpochRenewal?
    /// The time of the earlier state that the store went back to last; nil: it never did.
    private var restoredTo: Int64?

    /// Opens the folder.
    ///
    /// - Parameters:
    ///   - serves: Whether the cloud is about to be served. Then a missing cloud is created: the folder, the store and the
    ///     secret in it. Its parent folders are not created, and commands that work on a cloud create none, so that a mistyped path
    ///     is reported.
    ///   - adoptsCopy: Whether a copy of an earlier state is served, with a new epoch.
    /// - Throws: `CommandFailure`, `SecretError`.
    private init(_ path: String, serves: Bool, adoptsCopy: Bool) throws {
        self.path = path
        let storePath = path + Self.storeName
        try FolderOwner.become(ofFolder: path)
        let isMissing = try !Self.exists(storePath, in: path)
        let check = StartCheck(folder: path, storePath: storePath)
        // Files created from here on, also by the store, are readable only by their owner.
        umask(0o077)
        do {
            let isNew = try check.checkSecret()
            if isMissing {
                try Self.checkCreation(of: path, isAllowed: serves)
                try PrivateFile.makeFolder(path)
            }
            claim = serves ? try Self.claim(path) : nil
            renewal = serves && !isNew ? try check.checkHistory() : nil
            if !serves, !isNew {
                try check.checkLog()
                try check.checkLogIsWhole()
            }
            if let renewal, renewal.isOfCopy, !adoptsCopy { throw check.copyRefused(renewal) }
            if renewal != nil { try SQLiteStore.renewEpoch(path: storePath) }
            // The store first: a secret without a store is refused.
            store = try SQLiteStore(path: storePath)
            serverEnvironment = ServerEnvironment(secret: try Self.secret(path + "/secret"), now: Self.now)
            filesPlace = .folder(path + "/assets")
            files = try FolderFileStore(path + "/assets", now: Self.now)
        } catch let error as SecretError {
            throw error
        } catch let error as CommandFailure {
            throw error
        } catch let error as StoreError where error.code == .notAStore {
            throw CommandFailure(
                "the data folder \(path) cannot be used: \(storePath) is not a store; restore the store from a backup, or move the folder "
                    + "away to begin a new cloud")
        } catch {
            throw CommandFailure("the data folder \(path) cannot be used: \(error)")
        }
    }

    /// Opens a folder whose store is in a database. It holds the secret, and the files of assets only where their place is said to be here.
    private init(
        _ path: String, in configuration: PostgresConfiguration, serves: Bool, files: FilesOptions
    ) async throws {
        self.path = path
        umask(0o077)
        if try !Self.exists(path + "/secret", in: path) { try Self.checkCreation(of: path, isAllowed: serves) }
        let store: PostgresStore
        do {
            var options = PostgresStore.Options(configuration, wallClock: Self.now)
            // What is remembered of the store is remembered of this partition (`CloudApplication.forget`).
            options.markedPartitions = [AccountStore.partition]
            // A sign of life is no change that a mark, or another node, would have to follow.
            options.quietPartitions = [.nodes, ServedMark.partition]
            store = try await PostgresStore.open(options)
        } catch {
            throw CommandFailure("the store \(configuration) cannot be used: \(error)")
        }
        do {
            try PrivateFile.makeFolder(path)
            claim = serves ? try Self.claim(path) : nil
            let check = DatabaseCheck(folder: path, store: store)
            try await check.checkSecret(mayBeNew: serves)
            let secret = try Self.secret(path + "/secret")
            try await check.checkOwner(secret: secret, claims: serves)
            renewal = serves ? try await check.checkHistory() : nil
            if renewal != nil { try await store.renewEpoch(from: store.epoch) }
            self.store = store
            serverEnvironment = ServerEnvironment(secret: secret, now: Self.now)
            filesPlace = try await FilesNote(store: store).place(
                asked: try files.place(), folder: path + "/assets", notes: serves)
            self.files = try await filesPlace.open(in: store, settings: try files.settings(), now: Self.now)
        } catch {
            await store.close()
            switch error {
            case is SecretError, is CommandFailure: throw error
            default: throw CommandFailure("the cloud in \(path) and \(configuration) cannot be used: \(error)")
            }
        }
    }

    /// Claims the folder for this process until it ends.
    ///
    /// - Throws: `CommandFailure` if another process runs the cloud: the caches of two processes would diverge.
    private static func claim(_ path: String) throws -> FileClaim {
        guard let claim = FileClaim(path + "/serve.lock") else {
            throw CommandFailure(
                "a cloud is already running on \(path); stop it first, or use another folder with --data")
        }
        return claim
    }

    /// Whether other processes may serve the same store.
    var isShared: Bool { !(store is SQLiteStore) }
    var accountStore: AccountStore { AccountStore(store, serverEnvironment, isShared: isShared) }
    var cloud: Cloud { cloud(limits: Limits()) }

    func cloud(limits: Limits, requiresProvedAddresses: Bool = false) -> Cloud {
        let cloud = Cloud(
            store: store, files: files, serverEnvironment: serverEnvironment, limits: limits, isShared: isShared,
            requiresProvedAddresses: requiresProvedAddresses)
        if let renewal { cloud.storeHistory.note(renewal) }
        if let restoredTo { cloud.storeHistory.note(restoredTo: restoredTo) }
        return cloud
    }

    /// Prepares the store for new changes after it went back to an earlier state.
    ///
    /// - Parameter restoredTo: The time of the state, in milliseconds since 1970; 0 if it is not known.
    func continueFromEarlierState(restoredTo: Int64) async throws {
        try await ContinueFromEarlierState(cloud)
            .run(restoredTo: restoredTo, partitions: try await store.partitionNames())
    }

    /// Notes the present state of the store as served, before anything is.
    func noteServed() async throws {
        let mark = try await store.servedMark()
        try ServedFile(storeID: store.storeID, epoch: store.epoch, mark: mark).write(in: path)
    }

    /// Opens a folder, runs `body` with it and closes its store, also after an error; refusals become readable failures.
    ///
    /// - Parameters:
    ///   - serves: Whether the cloud is about to be served; a missing one is created, in a folder whose parent exists.
    ///   - adoptsCopy: Whether a copy of an earlier state is served, with a new epoch.
    ///   - rows: The formats of rows that are accepted.
    static func with<Value>(
        _ options: DataOptions, serves: Bool = false, adoptsCopy: Bool = false, rows: AcceptedRows = .newest,
        _ body: (DataFolder) async throws -> Value
    ) async throws -> Value {
        try await with(
            path: options.data, store: try options.location(), files: options.files, serves: serves,
            adoptsCopy: adoptsCopy, rows: rows, body)
    }

    /// The formats of rows that a command works on.
    enum AcceptedRows {
        /// That of this version alone.
        case newest
        /// All: for commands that do not read rows, or upgrade them.
        case any
    }

    /// Opens the folder at `path` with its store.
    static func with<Value>(
        path: String, store: StoreLocation = .folder, files: FilesOptions? = nil, serves: Bool = false,
        adoptsCopy: Bool = false, rows: AcceptedRows = .newest, _ body: (DataFolder) async throws -> Value
    ) async throws -> Value {
        let path = URL(fileURLWithPath: path).path
        var folder =
            switch store {
            case .folder where try files?.place() != nil:
                throw CommandFailure(
                    "--assets goes with a store in a database: a backup of the data folder holds its files")
            case .folder: try DataFolder(path, serves: serves, adoptsCopy: adoptsCopy)
            case .postgres(let configuration):
                try await DataFolder(path, in: configuration, serves: serves, files: files ?? FilesOptions())
            }
        do {
            if !folder.isShared { try await folder.checkOwner() }
            if rows == .newest { try await folder.requireNewestRows(serves: serves) }
            if serves, !folder.isShared { try await folder.claimStore() }
            if folder.renewal != nil { try await folder.continueFromEarlierState(restoredTo: 0) }
            folder.restoredTo = try await folder.cloud.readRestoredTo()
            let value = try await CommandFailure.explaining { try await body(folder) }
            await folder.store.close()
            return value
        } catch {
            await folder.store.close()
            throw error
        }
    }

    /// Refuses the store of another secret: it would refuse every token, and apps would take their people for signed out.
    private func checkOwner() async throws {
        let isOther: Bool
        do {
            isOther = try await StoreOwner(store: store).isOther(than: serverEnvironment.secret)
        } catch let error as StoreError {
            throw CommandFailure("the cloud in \(path) cannot be used: \(error)")
        }
        guard !isOther else {
            throw CommandFailure(
                "the secret \(path)/secret is not the one that its store was made with; restore it from a backup, or put the store back that "
                    + "belongs to it: with another secret every sign-in would end")
        }
    }

    /// Notes the secret in the store. A cloud whose disk is full is served all the same.
    private func claimStore() async throws {
        do {
            try await StoreOwner(store: store).claim(serverEnvironment.secret)
        } catch let error as StoreError where error.code == .diskFull {
        }
    }

    private func requireNewestRows(serves: Bool) async throws {
        do {
            try await StoreUpgrade(cloud).requireNewest(notesNew: serves)
        } catch let error as StoreError {
            throw CommandFailure("the cloud in \(path) cannot be used: \(error)")
        }
    }

    /// Makes the rows of an earlier version into those of this one.
    func upgradeRows() async throws {
        _ = try await StoreUpgrade(cloud).rows(partitions: try await store.partitionNames()).run()
    }

    static let now: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }

    private static let storeName = "/welkin.sqlite"

    /// Refuses to create a cloud where none is expected, or where the parent folder is missing.
    private static func checkCreation(of path: String, isAllowed: Bool) throws {
        guard isAllowed else {
            throw CommandFailure(
                "there is no cloud in \(path); pass its folder with --data or WELKIN_DATA, "
                    + "or create one there with: welkin serve --data \(path)")
        }
        let parent = URL(fileURLWithPath: path).deletingLastPathComponent().path
        guard try exists(parent, in: path) else {
            throw CommandFailure(
                "the parent folder \(parent) of the data folder \(path) does not exist; create it first")
        }
    }

    private static func exists(_ file: String, in path: String) throws -> Bool {
        if access(file, F_OK) == 0 { return true }
        let code = errno
        // Without read permission an existing cloud would look like a missing one.
        guard code == ENOENT else {
            throw CommandFailure("the data folder \(path) cannot be used: \(FileFailure("read it", code))")
        }
        return false
    }

    /// Reads the secret, 32 bytes in hexadecimal; creates it if the file is missing. It can sign tokens for any user.
    private static func secret(_ path: String) throws -> [UInt8] {
        let fresh = ServerEnvironment.systemRandom(32).hex + "\n"
        let held = try PrivateFile.readOrCreate(path, Array(fresh.utf8))
        let text = String(decoding: held, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        let bytes = stride(from: 0, to: text.utf8.count, by: 2).compactMap { offset in
            UInt8(text.dropFirst(offset).prefix(2), radix: 16)
        }
        guard bytes.count == 32, text.utf8.count == 64 else { throw SecretError(path: path) }
        return bytes
    }
}

/// The error of a secret file with other content.
struct SecretError: Error, CustomStringConvertible {
    var path: String

    var description: String {
        "\(path) is not a cloud's secret (64 hexadecimal digits). Restore it from a backup; a new one would end every "
            + "sign-in and make every device fetch everything again."
    }
}
