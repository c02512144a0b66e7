import CloudKitRecordLayer

/// The book of accounts, as the operator works with it.
package struct Accounts: Sendable {
    let book: Book
    let surroundings: Surroundings

    package init(book: Book, surroundings: Surroundings) {
        self.book = book
        self.surroundings = surroundings
    }

    /// A fresh puzzle for a password about to be set.
    package func newPuzzle(rounds: Int) -> PasswordPuzzle {
        PasswordPuzzle(salt: surroundings.random(16), rounds: rounds)
    }

    /// Makes an account.
    ///
    /// - Parameter proof: The solution of `puzzle` for the account's password.
    /// - Throws: `AccountError`.
    package func add(
        email: String, name: String, proof: [UInt8], puzzle: PasswordPuzzle
    ) async throws -> Account {
        guard let address = EmailAddress(email) else { throw AccountError.emailInvalid(email) }
        let account = Account(
            id: surroundings.randomHex(bytes: 16), email: address.normalised, name: name,
            created: surroundings.now(), lock: lock(proof, puzzle))
        return try await book.change { page in
            guard try await page.get(AccountKey.email(address)) == nil else {
                throw AccountError.emailTaken(address.normalised)
            }
            try page.set(AccountKey.account(account.id), to: account)
            page.set(AccountKey.email(address), to: Array(account.id.utf8))
            return account
        }
    }

    /// Every account, in the order of their addresses.
    package func list() async throws -> [Account] {
        try await book.rows(prefix: AccountKey.accounts, as: Account.self).sorted { $0.email < $1.email }
    }

    package func account(email: String) async throws -> Account? {
        guard let address = EmailAddress(email), let id = try await book.get(AccountKey.email(address)) else {
            return nil
        }
        return try await account(id: String(decoding: id, as: UTF8.self))
    }

    package func account(id: String) async throws -> Account? {
        try await book.row(AccountKey.account(id))
    }

    /// Switches an account off, or on again. Its sessions end with it.
    package func setDisabled(_ isDisabled: Bool, email: String) async throws {
        try await change(email) { $0.isDisabled = isDisabled }
    }

    /// Sets another password, without knowing the old one. Devices that are signed in stay so.
    ///
    /// The keychain stays wrapped by the old password: a device opens it with the recovery words, or another one that is
    /// signed in wraps it anew.
    package func setPassword(proof: [UInt8], puzzle: PasswordPuzzle, email: String) async throws {
        let lock = lock(proof, puzzle)
        try await change(email) { $0.lock = lock }
    }

    /// Removes an account, its sessions and its user names. Records are `Cloud.removeData`'s; those that are left have no owner who
    /// could sign in.
    package func remove(email: String) async throws {
        guard let account = try await account(email: email) else { throw AccountError.notFound(email) }
        try await book.change { page in
            for session in try await page.rows(prefix: AccountKey.sessions(of: account.id), as: DeviceSession.self) {
                page.clear(AccountKey.session(session.id, of: account.id))
                page.clear(AccountKey.sessionOwner(session.id))
            }
            for entry in try await page.entries(prefix: AccountKey.userNames(of: account.id)) {
                page.clear(entry.key)
                page.clear(AccountKey.userAccount(String(decoding: entry.value, as: UTF8.self)))
            }
            page.clear(AccountKey.keychain(of: account.id))
            page.clear(AccountKey.keyReset(of: account.id))
            page.clear(AccountKey.account(account.id))
            page.clear(AccountKey.normalisedEmail(account.email))
        }
    }

    private func change(_ email: String, _ change: @Sendable (inout Account) -> Void) async throws {
        guard let id = try await account(email: email)?.id else { throw AccountError.notFound(email) }
        try await book.change { page in
            guard var account: Account = try await page.row(AccountKey.account(id)) else {
                throw AccountError.notFound(email)
            }
            change(&account)
            try page.set(AccountKey.account(id), to: account)
        }
    }

    func lock(_ proof: [UInt8], _ puzzle: PasswordPuzzle) -> PasswordLock {
        PasswordLock(proof: proof, salt: puzzle.salt, rounds: puzzle.rounds, verifierSalt: surroundings.random(16))
    }
}

/// Where things stand in the book of accounts. Names come from outside, so what follows one is always fixed in length
/// or the end of the key.
enum AccountKey {
    static let accounts = "account/"
    static func account(_ id: String) -> String { accounts + id }
    static func email(_ email: EmailAddress) -> String { normalisedEmail(email.normalised) }
    static func normalisedEmail(_ email: String) -> String { "email/" + email }
    static func sessions(of account: String) -> String { "session/" + account + "/" }
    static func session(_ id: String, of account: String) -> String { sessions(of: account) + id }
    static func sessionOwner(_ id: String) -> String { "session-owner/" + id }
    static func userNames(of account: String) -> String { "user/" + account + "/" }
    static func userName(of account: String, in container: String) -> String { userNames(of: account) + container }
    static func keychain(of account: String) -> String { "keychain/" + account }
    static let keyResets = "key-reset/"
    static func keyReset(of account: String) -> String { keyResets + account }
    static func userAccount(_ userName: String) -> String { "user-account/" + userName }
    static let apiTokens = "api-token/"
    static func apiToken(hash: String) -> String { apiTokens + hash }
    static let operatorTokens = "operator-token/"
    static func operatorToken(hash: String) -> String { operatorTokens + hash }
    static let serverKeys = "server-key/"
    static func serverKey(_ id: String) -> String { serverKeys + id }
}
