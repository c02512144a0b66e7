import CloudKitAccounts

/// Deletes the accounts whose people asked for it, once the time is over.
package struct DeleteDueAccounts: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// A deleted account.
    package struct Deleted: Hashable, Sendable {
        /// The account.
        package var account: Account
        /// The data that was removed with it.
        package var data: RemovedData
    }

    /// Deletes every account whose time is over: its records, files, shares, sessions, keys and names.
    ///
    /// Called repeatedly, from any number of processes; one that ends in between leaves the rest to the next call.
    ///
    /// - Parameter stopped: Called with each account once it is disabled, before its data goes.
    package func run(stopped: (Account) async throws -> Void = { _ in }) async throws -> [Deleted] {
        let deletions = cloud.accountStore.deletions
        let now = cloud.serverEnvironment.now()
        var deleted: [Deleted] = []
        for deletion in try await deletions.all() where deletion.due <= now {
            guard let account = try await deletions.begin(deletion) else { continue }
            try await stopped(account)
            let data = try await RemoveAccountData(cloud).run(ofAccount: account.id)
            do {
                try await cloud.accountStore.accounts.remove(email: account.email)
            } catch let error as AccountError {
                // Another process was faster.
                guard case .notFound = error else { throw error }
            }
            deleted.append(Deleted(account: account, data: data))
        }
        return deleted
    }
}
