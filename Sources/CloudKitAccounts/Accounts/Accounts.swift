import CloudKitRecordLayer

/// The accounts of a cloud, as the operator works with them.
package struct Accounts: Sendable {
    let store: AccountStore

    /// Returns random salt for the derivation of a new password's proof.
    package func newDerivation(rounds: Int) -> PasswordDerivation {
        PasswordDerivation(salt: store.serverEnvironment.random(16), rounds: rounds)
    }

    /// Makes an account.
    ///
    /// - Parameter proof: Derived from the account's password with `derivation`.
    /// - Throws: `AccountError`.
    package func add(
        email: String, name: String, proof: [UInt8], derivation: PasswordDerivation
    ) async throws -> Account {
        guard let address = EmailAddress(email) else { throw AccountError.emailInvalid(email) }
        let account = newAccount(address, name: name, proof: proof, derivation: derivation)
        try await store.write { try await $0.add(account) }
        return account
    }

    /// Returns an account that is not stored yet.
    func newAccount(
        _ address: EmailAddress, name: String, proof: [UInt8], derivation: PasswordDerivation
    ) -> Account {
        Account(
            id: store.serverEnvironment.randomHex(bytes: 16), email: address.normalised, name: name,
            created: store.serverEnvironment.now(), password: newVerifier(proof, derivation))
    }

    /// Returns an account without a password that is not stored yet.
    ///
    /// - Parameter rounds: Those of accounts with a password, from which it cannot be told apart before a sign-in.
    func newAccount(_ address: EmailAddress, name: String, rounds: Int) -> Account {
        let nobodys = store.serverEnvironment.random(ProofBounds.bytes)
        let derivation = newDerivation(rounds: rounds)
        var account = newAccount(address, name: name, proof: nobodys, derivation: derivation)
        account.removePassword(account.password)
        return account
    }

    /// Returns every account, in the order of their addresses.
    package func list() async throws -> [Account] {
        try await Account.table.rows(in: store).sorted { $0.email < $1.email }
    }

    /// Returns a bounded number of accounts, in the order of their addresses.
    ///
    /// - Parameters:
    ///   - prefix: The beginning of their addresses, in any case.
    ///   - after: The address that they follow; nil: from the first.
    package func page(prefix: String, after: String? = nil, limit: Int) async throws -> [Account] {
        let prefix = EmailAddress.normalised(beginning: prefix)
        return try await store.read { view in
            var accounts: [Account] = []
            for (_, id) in try await Account.idsByEmail.page(prefix: prefix, after: after, limit: limit, in: view) {
                if let account = try await Account.table.row(id, in: view) { accounts.append(account) }
            }
            return accounts
        }
    }

    /// Returns the account whose id begins with some digits, or nil where there is none, or more than one.
    package func account(idPrefix: String) async throws -> Account? {
        guard idPrefix.utf8.count >= Account.shownDigits else { return nil }
        let found = try await store.read { try await Account.table.page(prefix: idPrefix, limit: 2, in: $0) }
        return found.count == 1 ? found.first?.row : nil
    }

    /// Returns the account with an address, or nil where there is none.
    package func account(email: String) async throws -> Account? {
        guard let address = EmailAddress(email) else { return nil }
        return try await store.read { try await $0.account(address) }
    }

    /// Returns the account with an id, or nil where there is none.
    package func account(id: String) async throws -> Account? {
        try await Account.table.row(id, in: store)
    }

    /// Disables an account, or enables it again. Its sessions end while it is disabled.
    package func setDisabled(_ isDisabled: Bool, email: String) async throws {
        try await change(email) { $0.isDisabled = isDisabled }
    }

    /// Sets another password, without knowing the old one. Signed-in devices stay signed in.
    ///
    /// The keychain stays wrapped by the old password: a device opens it with the recovery words, or another one that is
    /// signed in wraps it again.
    package func setPassword(proof: [UInt8], derivation: PasswordDerivation, email: String) async throws {
        let password = newVerifier(proof, derivation)
        try await change(email) { $0.setPassword(password) }
    }

    /// Lets others find the person, or not (B-ACC-05); nil: the person has not decided, and is not found.
    package func setDiscoverable(_ isDiscoverable: Bool?, email: String) async throws {
        try await change(email) { $0.isDiscoverable = isDiscoverable }
    }

    /// Allows browsers to fetch an account's wrapped keys when they sign in, or forbids it; then the browsers that fetched them are signed
    /// out.
    ///
    /// - Throws: `AccountError`.
    package func setAllowsWebKeys(_ allowsWebKeys: Bool, email: String) async throws {
        try await change(email) { $0.allowsWebKeys = allowsWebKeys }
        guard !allowsWebKeys, let account = try await account(email: email) else { return }
        for session in try await store.sessions.sessions(of: account) where session.isBrowserWithKeys {
            try await store.sessions.end(session.id)
        }
    }

    func change(_ email: String, _ change: @Sendable (inout Account) -> Void) async throws {
        guard let id = try await account(email: email)?.id else { throw AccountError.notFound(email) }
        try await store.write { transaction in
            guard var account = try await Account.table.row(id, in: transaction) else {
                throw AccountError.notFound(email)
            }
            change(&account)
            try Account.table.set(id, to: account, in: &transaction)
        }
    }

    /// Returns the verifier of a new password, as the cloud stores it.
    func newVerifier(_ proof: [UInt8], _ derivation: PasswordDerivation) -> PasswordVerifier {
        PasswordVerifier(
            proof: proof, salt: derivation.salt, rounds: derivation.rounds,
            verifierSalt: store.serverEnvironment.random(16))
    }
}

extension AccountStore {
    /// The accounts, as the operator works with them.
    package var accounts: Accounts { Accounts(store: self) }
}
