import CloudKitRecordLayer

extension Accounts {
    /// Removes an account, its sessions, its keychain and its user names. Records are `Cloud.removeData`'s; those that are left have no owner
    /// who could sign in.
    ///
    /// - Throws: `AccountError`.
    package func remove(email: String) async throws {
        guard let account = try await account(email: email) else { throw AccountError.notFound(email) }
        try await store.write { transaction in
            for (id, _) in try await DeviceSession.table.rows(of: account.id, in: transaction) {
                transaction.clearSession(id, of: account.id)
            }
            for (container, user) in try await UserNames.names.rows(of: account.id, in: transaction) {
                UserNames.names.clear(OwnedRowKey(owner: account.id, name: container), in: &transaction)
                UserNames.accounts.clear(user, in: &transaction)
                try transaction.noteDirectoryChange(.label(.user(user, container: container)))
            }
            for passkey in try await transaction.passkeys(of: account.id) { transaction.clear(passkey) }
            for identity in try await transaction.providerIdentities(of: account.id) { transaction.clear(identity) }
            try await transaction.clearKeyRequests(ofAccount: account.id)
            Keychain.table.clear(account.id, in: &transaction)
            KeyReset.table.clear(account.id, in: &transaction)
            AccountDeletion.table.clear(account.id, in: &transaction)
            try await transaction.clearAddressProof(ofAccount: account.id)
            OperatorAccount.table.clear(account.id, in: &transaction)
            for consent in try await ConsoleConsent.table.rows(in: transaction) where consent.account == account.id {
                ConsoleConsent.table.clear(consent.hash, in: &transaction)
            }
            let numbers = try await Account.table.row(account.id, in: transaction)?.phoneNumbers ?? account.phoneNumbers
            for number in numbers { transaction.clearPhoneNumber(number) }
            Account.table.clear(account.id, in: &transaction)
            Account.idsByEmail.clear(account.email, in: &transaction)
            transaction.clearAccountAddress(account.email)
            try transaction.noteDirectoryChange(.label(.address(account.email)))
        }
    }
}
