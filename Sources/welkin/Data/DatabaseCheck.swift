import CloudKitServer
import Foundation
import OrderedStore

/// Checks that the store in a database and a cloud's data folder belong together, before the cloud is served or changed.
struct DatabaseCheck {
    let folder: String
    let store: any PersistentStore

    /// Refuses a store with data without its secret, and a secret with another, empty store.
    ///
    /// - Parameter mayBeNew: Whether a cloud without both may be created.
    func checkSecret(mayBeNew: Bool) async throws {
        let hasSecret = FileManager.default.fileExists(atPath: folder + "/secret")
        let isEmpty = try await store.isEmpty()
        if !hasSecret, !isEmpty {
            throw CommandFailure(
                "the secret \(folder)/secret is missing, but the store holds data; restore it from a backup, or copy it from "
                    + "another node of this cloud: a new one would end every sign-in")
        }
        guard hasSecret, isEmpty else { return }
        let served = try ServedFile.read(in: folder)
        let holdsCloud = FileManager.default.fileExists(atPath: folder + "/welkin.sqlite")
        // A cloud that was stopped before its first write has an empty store, too.
        if holdsCloud || served.map({ $0.storeID != store.storeID }) ?? false {
            throw CommandFailure(
                "the store is empty, but \(folder) belongs to a cloud with another store; check the address, restore the "
                    + "database from a backup, or fill it with welkin store copy")
        }
    }

    /// Refuses the store of another cloud: two clouds in one schema would refuse each other's tokens.
    ///
    /// - Parameter claims: Whether a store without an owner is noted as this cloud's.
    func checkOwner(secret: [UInt8], claims: Bool) async throws {
        let owner = StoreOwner(store: store)
        if try await owner.isOther(than: secret) {
            throw CommandFailure(
                "the store belongs to another cloud: its secret is not \(folder)/secret; name another schema with ?schema=NAME, "
                    + "or use that cloud's data folder")
        }
        if claims { try await owner.claim(secret) }
    }

    /// - Returns: The reason to begin a new epoch: an earlier state of the database was restored.
    func checkHistory() async throws -> EpochRenewal? {
        let mark = try await store.servedMark()
        guard let served = try ServedFile.read(in: folder) else { return nil }
        guard served.storeID == store.storeID else { return nil }
        return mark < served.mark ? .olderThanServed : nil
    }
}
