import CloudKitRecordLayer

/// The resets of keychains after which zones are still to be marked.
package struct KeyResets: Sendable {
    let store: AccountStore

    /// Returns every reset that is not finished.
    package func unfinished() async throws -> [KeyReset] {
        try await KeyReset.table.rows(in: store)
    }

    /// Returns whether a reset is not finished, read in a transaction that names the partition of accounts.
    package func isUnfinished(_ reset: KeyReset, in transaction: StorageWriter) async throws -> Bool {
        try await KeyReset.table.row(reset.account, in: transaction, partition: store.partition) == reset
    }

    /// Ends a reset, and lets the account use its zones, unless another reset has begun meanwhile, which looks at all zones again.
    package func finish(_ reset: KeyReset) async throws {
        try await store.write { transaction in
            guard try await KeyReset.table.row(reset.account, in: transaction) == reset else { return }
            KeyReset.table.clear(reset.account, in: &transaction)
            guard var account = try await Account.table.row(reset.account, in: transaction) else { return }
            account.isResettingKeys = false
            try Account.table.set(account.id, to: account, in: &transaction)
        }
    }
}

extension AccountStore {
    /// The resets of keychains that are not finished.
    package var keyResets: KeyResets { KeyResets(store: self) }
}
