import CloudKitDevice
import CloudKitServer
import Foundation
import OrderedStore
import OrderedStoreSQLite

/// Checks a cloud's folder before its store is opened, and refuses what cannot be right.
struct StartCheck {
    let folder: String
    let storePath: String

    /// Checks that store and secret belong together.
    ///
    /// - Returns: Whether there is no cloud yet; a store that was never used is none, as after a start that failed before it
    ///   made the secret.
    /// - Throws: `CommandFailure` for a secret without a store, and for a store without its secret.
    func checkSecret() throws -> Bool {
        let hasSecret = FileManager.default.fileExists(atPath: folder + "/secret")
        var status = stat()
        let size = stat(storePath, &status) == 0 ? Int64(status.st_size) : 0
        let wasServed = FileManager.default.fileExists(atPath: folder + "/served")
        if size == 0, hasSecret || wasServed {
            throw CommandFailure(
                "the store \(storePath) is missing or empty, but \(hasSecret ? "its secret" : "the record of its last run") "
                    + "is there; restore the store from a backup, or move the folder away to begin a new cloud")
        }
        if size == 0 { return true }
        if hasSecret || wasServed, try holdsNoStore() {
            throw CommandFailure(
                "the store \(storePath) holds nothing without its log, but its "
                    + "\(hasSecret ? "secret" : "record of its last run") is there; put \(storePath)-wal back if it was moved, restore "
                    + "the store from a backup, or move the folder away to begin a new cloud")
        }
        if hasSecret { return false }
        guard try SQLiteStore.isUnused(path: storePath) else {
            throw CommandFailure(
                "the secret \(folder)/secret is missing beside a store with data; restore it from a backup: "
                    + "a new one would end every sign-in and make every device fetch everything again")
        }
        return true
    }

    /// Whether the file has no tables: SQLite makes it first, and moves them out of the log later.
    private func holdsNoStore() throws -> Bool {
        do {
            _ = try SQLiteStore.inspect(path: storePath)
            return false
        } catch let error where error.code == .notAStore {
            // The error of a file of something else passes.
            return try SQLiteStore.isUnused(path: storePath)
        }
    }

    /// Checks that the log belongs to the store, before anything moves it into the file. Other processes may be using the store.
    ///
    /// - Returns: What the store says about itself.
    /// - Throws: `CommandFailure` for a log of another store, and for an older one.
    @discardableResult func checkLog() throws -> StoreInspection {
        // The file first: with its log it is a later state then, also while a cloud runs. While a process moves the log into the
        // file, or after it was killed then, the file alone may not be readable.
        let alone = try? SQLiteStore.inspect(path: storePath, ignoresLog: true)
        let present = try SQLiteStore.inspect(path: storePath)
        if let alone {
            guard alone.storeID == present.storeID else { throw foreignLog("of another store") }
            guard alone.servedMark <= present.servedMark else { throw foreignLog("older than the store") }
        }
        return present
    }

    /// Refuses a store whose log has lost commits, unless a cloud is running on it: a command would forget what was lost, and the start
    /// of the cloud would begin no new epoch.
    func checkLogIsWhole() throws {
        guard LogInspection(storePath: storePath).hasLostCommits else { return }
        // A running cloud adds to the log while it is read, and has checked what it found at its start.
        guard let claim = FileClaim(folder + "/serve.lock") else { return }
        defer { withExtendedLifetime(claim) {} }
        guard LogInspection(storePath: storePath).hasLostCommits else { return }
        throw CommandFailure(
            "the log \(storePath)-wal is damaged, and the commits after the damage are lost; restore the store from a backup, or start the "
                + "cloud with welkin serve, which begins a new epoch so that devices send what they saved since")
    }

    /// Checks the store of a cloud that is about to be served.
    ///
    /// - Returns: The reason to begin a new epoch; nil: the store is what was served last, or a later state.
    /// - Throws: `CommandFailure` for a log that does not belong to the store, and for a store that was never served here.
    func checkHistory() throws -> EpochRenewal? {
        let log = LogInspection(storePath: storePath)
        let present = try checkLog()
        if log.hasLostCommits { return .logDamaged }
        guard let served = try ServedFile.read(in: folder) else {
            return present.servedMark > 0 ? .servedUnknown : nil
        }
        let isSameEpoch = served.epoch == present.epoch
        // A copy by `welkin store copy` has its own number, and the epoch of its source.
        guard served.storeID == present.storeID || isSameEpoch else { throw otherStore }
        return !isSameEpoch || present.servedMark < served.mark ? .olderThanServed : nil
    }

    private var otherStore: CommandFailure {
        CommandFailure(
            "\(storePath) is not the store that was served last; put that one back, or restore a backup with welkin restore. If this one is to "
                + "take its place, move \(folder)/served away and start the cloud once with --adopt-copy; every device fetches everything again then"
        )
    }

    /// Returns the refusal of a folder that is a copy of an earlier state.
    func copyRefused(_ renewal: EpochRenewal) -> CommandFailure {
        CommandFailure(
            "\(renewal.rawValue): \(folder) seems to be a copy of an earlier state. If it is to take the place of the cloud, start it once with "
                + "--adopt-copy; a new epoch begins then, and every device fetches everything again and offers what it saved later. Otherwise "
                + "move it away, and restore a backup with welkin restore")
    }

    private func foreignLog(_ reason: String) -> CommandFailure {
        CommandFailure(
            "the log \(storePath)-wal is \(reason); move it and \(storePath)-shm away, "
                + "or restore the store with its own log from a backup")
    }
}

extension EpochRenewal {
    /// A Boolean value that indicates whether the folder was put in the place of the cloud: the operator has to want that.
    var isOfCopy: Bool { self == .olderThanServed || self == .servedUnknown }
}
