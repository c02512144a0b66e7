import CloudKitServer
import Foundation
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
        if size == 0 || hasSecret { return size == 0 }
        guard try SQLiteStore.isUnused(path: storePath) else {
            throw CommandFailure(
                "the secret \(folder)/secret is missing beside a store with data; restore it from a backup: "
                    + "a new one would end every sign-in and make every device fetch everything again")
        }
        return true
    }

    /// Checks the store of a cloud that is about to be served.
    ///
    /// - Returns: The reason to begin a new epoch; nil: the store is what was served last, or a later state.
    /// - Throws: `CommandFailure` for a log that does not belong to the store.
    func checkHistory() throws -> EpochRenewal? {
        let log = LogInspection(storePath: storePath)
        let present = try SQLiteStore.inspect(path: storePath)
        // While a process moves the log into the file, or after it was killed then, the file alone may not be readable.
        if let alone = try? SQLiteStore.inspect(path: storePath, ignoresLog: true) {
            guard alone.storeID == present.storeID else { throw foreignLog("of another store") }
            guard alone.servedMark <= present.servedMark else { throw foreignLog("older than the store") }
        }
        if log.hasLostCommits { return .logDamaged }
        guard let served = try ServedFile.read(in: folder) else {
            return present.servedMark > 0 ? .servedUnknown : nil
        }
        guard served.storeID == present.storeID else { return nil }
        return served.epoch != present.epoch || present.servedMark < served.mark ? .olderThanServed : nil
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
