import CloudKitRecordLayer

/// The invitations to make an account, as the operator works with them.
package struct AccountInvitations: Sendable {
    let store: AccountStore

    /// The most accounts that one invitation makes.
    package static let usesMax = 10_000
    /// The most days for which one is valid.
    package static let daysMax = 365
    /// Milliseconds for which an invitation that is over stays in the list.
    private static let keptAfter: Int64 = 30 * 86_400_000

    /// Makes an invitation, and removes those that have been over for long.
    ///
    /// - Parameters:
    ///   - email: The only address that it makes an account for; nil: any.
    ///   - uses: Accounts that it makes at most; 1 where it names an address.
    ///   - days: Days until it expires.
    ///   - plan: The decisions about the accounts.
    ///   - isMailed: Whether the link goes to the mailbox of the address alone.
    /// - Returns: The code, which cannot be read again, and the stored row.
    /// - Throws: `AccountError`, also for an address that has an account.
    package func create(
        email: String? = nil, uses: Int = 1, days: Int, plan: AccountPlan = AccountPlan(), isMailed: Bool = false
    ) async throws -> (code: String, row: AccountInvitation) {
        let address = email.flatMap { EmailAddress($0) }
        if let email, address == nil { throw AccountError.emailInvalid(email) }
        guard (1...Self.usesMax).contains(uses), address == nil || uses == 1, (1...Self.daysMax).contains(days) else {
            throw AccountError.invitationBounds
        }
        let now = store.serverEnvironment.now()
        var (code, row) = newInvitation(email: address, uses: uses, days: days, now: now)
        _ = row.take(plan)
        row.isMailed = isMailed && address != nil
        let made = row
        try await store.write { transaction in
            if let address, try await transaction.account(address) != nil {
                throw AccountError.emailTaken(address.normalised)
            }
            for old in try await AccountInvitation.table.rows(in: transaction)
            where old.expires + Self.keptAfter <= now {
                AccountInvitation.table.clear(old.hash, in: &transaction)
            }
            try AccountInvitation.table.set(made.hash, to: made, in: &transaction)
        }
        return (code, made)
    }

    /// Returns an invitation that is not stored yet, with its code.
    func newInvitation(
        email: EmailAddress?, uses: Int, days: Int, now: Int64
    ) -> (code: String, row: AccountInvitation) {
        let code = store.serverEnvironment.randomHex(bytes: AccountInvitation.codeDigits / 2)
        let row = AccountInvitation(
            hash: AccountInvitation.digest(code), email: email?.normalised, usesMax: uses, created: now,
            expires: now + Int64(days) * 86_400_000)
        return (code, row)
    }

    /// Returns every invitation, oldest first, used and expired ones too.
    package func list() async throws -> [AccountInvitation] {
        try await AccountInvitation.table.rows(in: store).sorted { ($0.created, $0.hash) < ($1.created, $1.hash) }
    }

    /// Removes an invitation, given its id, the first digits of it, or its code: it makes no account any more.
    ///
    /// - Returns: The removed invitation; empty when nothing matches, more than one when `text` is ambiguous, and then nothing is removed.
    package func remove(_ text: String) async throws -> [AccountInvitation] {
        let hash = AccountInvitation.hash(of: text)
        return try await store.write { transaction in
            let matches = try await AccountInvitation.table.rows(in: transaction).filter {
                $0.hash == hash || (!text.isEmpty && $0.hash.hasPrefix(text))
            }
            if matches.count == 1 { AccountInvitation.table.clear(matches[0].hash, in: &transaction) }
            return matches
        }
    }
}

extension AccountStore {
    /// The invitations to make an account, as the operator works with them.
    package var invitations: AccountInvitations { AccountInvitations(store: self) }
}
