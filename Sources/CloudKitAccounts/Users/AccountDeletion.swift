import CloudKitModel
import CloudKitRecordLayer

/// The wish of a person that their account is deleted, until that is done or taken back.
///
/// The account's devices are signed out with the wish, and nothing else changes: others see the person, and use their shares, until the
/// time is over. Signing in takes the wish back if the person says so.
package struct AccountDeletion: StoredRow, Hashable {
    /// The account.
    package var account: String
    /// The time of the wish, in milliseconds since 1970.
    package var requested: Int64
    /// The time from which the account is deleted, in milliseconds since 1970.
    package var due: Int64

    /// account → `AccountDeletion`
    static let table = RowTable<String, AccountDeletion>("deletion")
}

/// The deletions that people asked for.
package struct AccountDeletions: Sendable {
    let store: AccountStore

    /// Signs all devices of an account out and has the account deleted when a time is over.
    ///
    /// - Parameters:
    ///   - sender: A device of the account, or a browser on a page of the cloud.
    ///   - proof: Of the person.
    ///   - grace: Milliseconds until the deletion.
    ///   - address: The network address that sends the request, to slow down guessing.
    ///   - proofGuard: The one count of wrong proofs.
    /// - Throws: `RequestFailure` `authenticationFailed`, `throttled`.
    package func request(
        by sender: AccountSender, proof: AccountProof, grace: Int64, address: String, _ proofGuard: ProofLimiter
    ) async throws -> AccountDeletion {
        let now = store.serverEnvironment.now()
        return try await store.agreed(proof, by: sender, address: address, proofGuard) { transaction, _, account in
            let deletion = AccountDeletion(account: account.id, requested: now, due: now + max(0, grace))
            try AccountDeletion.table.set(account.id, to: deletion, in: &transaction)
            for (id, _) in try await DeviceSession.table.rows(of: account.id, in: transaction) {
                transaction.clearSession(id, of: account.id)
            }
            try transaction.noteDirectoryChange(.account(account.id))
            return deletion
        }
    }

    /// Returns the deletion of an account, or nil where nobody asked for it.
    package func deletion(ofAccount id: String) async throws -> AccountDeletion? {
        try await AccountDeletion.table.row(id, in: store)
    }

    /// Returns all deletions that were asked for.
    package func all() async throws -> [AccountDeletion] { try await AccountDeletion.table.rows(in: store) }

    /// Begins a deletion whose time is over: from then on it cannot be taken back.
    ///
    /// - Returns: The account; nil: the wish was taken back, or its time is not over.
    package func begin(_ deletion: AccountDeletion) async throws -> Account? {
        let now = store.serverEnvironment.now()
        return try await store.write { transaction in
            guard let current = try await AccountDeletion.table.row(deletion.account, in: transaction),
                current.due <= now
            else { return nil }
            guard var account = try await Account.table.row(deletion.account, in: transaction) else {
                AccountDeletion.table.clear(deletion.account, in: &transaction)
                return nil
            }
            account.isDisabled = true
            try Account.table.set(account.id, to: account, in: &transaction)
            return account
        }
    }
}

extension StorageWriter {
    /// Takes back the deletion of an account whose person signs in and says so.
    ///
    /// - Throws: `RequestFailure` `accountRestricted` where they do not say so.
    mutating func takeBackDeletion(of account: Account, isWanted: Bool, now: Int64) async throws {
        guard let deletion = try await AccountDeletion.table.row(account.id, in: self) else { return }
        guard isWanted else { throw RequestFailure.accountIsDeleted(inMilliseconds: deletion.due - now) }
        AccountDeletion.table.clear(account.id, in: &self)
    }
}

extension RequestFailure {
    /// The person who signs in has asked for the deletion of the account.
    fileprivate static func accountIsDeleted(inMilliseconds rest: Int64) -> RequestFailure {
        let days = max(0, (rest + 86_399_999) / 86_400_000)
        return RequestFailure(
            .accountRestricted, "this account is going to be deleted within \(days) days, as its owner asked",
            remedy: "To keep it, sign in with: welkin login --keep-account")
    }
}

extension AccountStore {
    /// The deletions that people asked for.
    package var deletions: AccountDeletions { AccountDeletions(store: self) }
}
