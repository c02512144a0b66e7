import CloudKitModel
import CloudKitRecordLayer
import Synchronization

/// The quotas of accounts by their users, for writes, which all ask for one.
///
/// Answers of the store are cached for a few seconds, so a quota set by another process may apply that much later; `forget` makes
/// it immediate in this one.
package final class AccountQuotas: Sendable {
    private struct Key: Hashable {
        var user: UserID
        var container: ContainerID
    }

    private struct Entry {
        var quota: AccountQuota
        /// Milliseconds since 1970.
        var expires: Int64
    }

    private let store: AccountStore
    private let cacheLifetime: Int64
    private let entries = Mutex<[Key: Entry]>([:])

    private static let entriesMax = 20_000

    /// - Parameter cacheLifetime: The time for which an answer of the store is cached, milliseconds.
    package init(store: AccountStore, cacheLifetime: Int64 = 5_000) {
        self.store = store
        self.cacheLifetime = cacheLifetime
    }

    /// Returns the quota of a container's user: that of the account in the container, of the account, or of the container; the cloud's for a user
    /// without an account.
    package func quota(of user: UserID, in container: ContainerID) async throws -> AccountQuota {
        let now = store.serverEnvironment.now()
        let key = Key(user: user, container: container)
        // A clock that was set back does not make an answer last longer.
        if let known = entries.withLock({ $0[key] }), now < known.expires, known.expires <= now + cacheLifetime {
            return known.quota
        }
        let quota = try await store.read { view -> AccountQuota in
            guard let account = try await UserNames.accounts.row(user.recordName, in: view) else { return .cloud }
            let own = try await Account.table.part(OwnQuotas.self, of: account, in: view)?.quota(in: container.name)
            if let own, own != .cloud { return own }
            return try await Account.quotasByContainer.row(container.name, in: view).flatMap { AccountQuota(text: $0) }
                ?? .cloud
        }
        entries.withLock { entries in
            if entries.count >= Self.entriesMax { entries.removeAll(keepingCapacity: true) }
            entries[key] = Entry(quota: quota, expires: now + cacheLifetime)
        }
        return quota
    }

    /// Reads the store again: another process may have set a quota.
    package func forget() { entries.withLock { $0.removeAll(keepingCapacity: true) } }
}
