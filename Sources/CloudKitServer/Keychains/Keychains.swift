import CloudKitModel
import CloudKitRecordLayer

/// The keychains of all accounts, as their devices work with them.
///
/// Everything a device changes is compared and set in one transaction: of two devices that make or reset a keychain at
/// once, one is told to sign in again.
package struct Keychains: Sendable {
    private let book: Book
    private let surroundings: Surroundings
    private let guesses: ProofGuard

    /// - Parameter guesses: The one that sign-in uses, so that there is one count of wrong proofs.
    package init(book: Book, surroundings: Surroundings, guesses: ProofGuard) {
        self.book = book
        self.surroundings = surroundings
        self.guesses = guesses
    }

    /// How a device's keychain stands.
    package struct Status: Hashable, Sendable {
        /// 0: the account has no keychain yet.
        package var generation: Int
        package var hasKeychain: Bool
        package var isOutdated: Bool
        package var identity: [UInt8]?
    }

    /// What a device holds against what the account has.
    package func status(for device: DeviceKey) async throws -> Status {
        let (session, account) = try await DeviceSessions(book: book).owner(of: device, now: surroundings.now())
        let keychain: Keychain? = try await book.row(AccountKey.keychain(of: account.id))
        return Status(
            generation: account.keychainGeneration, hasKeychain: keychain != nil,
            isOutdated: session.isOutdated(for: account), identity: keychain?.identity)
    }

    /// Gives an account its keychain; the device is then signed in with it.
    ///
    /// - Returns: The keychain's generation.
    /// - Throws: `RequestFailure` `conflict` when there is one already.
    package func create(_ offer: KeychainOffer, by device: DeviceKey) async throws -> Int {
        try offer.check()
        let now = surroundings.now()
        let salt = surroundings.random(16)
        return try await book.change { page in
            var (session, account) = try await page.owner(of: device, now: now)
            guard try await page.get(AccountKey.keychain(of: account.id)) == nil, !session.isOutdated(for: account)
            else { throw RequestFailure.keychainConflict }
            try page.replaceKeychain(offer, salt, of: &account, by: &session)
            return account.keychainGeneration
        }
    }

    /// Replaces wrapped forms of the same secret.
    ///
    /// - Parameters:
    ///   - proof: Of the password.
    ///   - generation: The one of the device's secret.
    ///   - passwordWrap: nil: stays.
    ///   - recovery: New recovery words; the old ones are then worth nothing. nil: stay.
    package func rewrap(
        passwordWrap: [UInt8]?, recovery: RecoveryOffer?, generation: Int, proof: [UInt8], by device: DeviceKey,
        address: String
    ) async throws {
        if let passwordWrap { try KeychainBounds.check(wrap: passwordWrap) }
        try recovery?.check()
        let salt = surroundings.random(16)
        try await change(by: device, proof: proof, address: address) { page, _, account in
            var keychain = try await page.keychain(of: account, generation: generation)
            if let passwordWrap { keychain.passwordWrap = passwordWrap }
            if let recovery {
                keychain.recoveryWrap = recovery.wrap
                keychain.recovery = ProofHash(recovery.proof, salt: salt)
            }
            try page.set(AccountKey.keychain(of: account.id), to: keychain)
        }
    }

    /// Begins anew with other keys, because the old ones are lost: what they sealed is lost too (B-TM-12).
    ///
    /// Zones are marked afterwards, by `Cloud.finishKeyResets`; until then private and shared databases answer
    /// `tryAgainLater`.
    ///
    /// - Parameter generation: The one to be replaced.
    /// - Returns: The new generation.
    package func reset(
        to offer: KeychainOffer, replacing generation: Int, proof: [UInt8], by device: DeviceKey, address: String
    ) async throws -> Int {
        try offer.check()
        let now = surroundings.now()
        let salt = surroundings.random(16)
        return try await change(by: device, proof: proof, address: address) { page, session, account in
            guard try await page.get(AccountKey.keychain(of: account.id)) != nil else {
                throw RequestFailure.keychainMissing
            }
            guard account.keychainGeneration == generation else { throw RequestFailure.keychainConflict }
            try page.beginReset(of: &account, now: now)
            try page.replaceKeychain(offer, salt, of: &account, by: &session)
            return account.keychainGeneration
        }
    }

    /// Takes an account's keychain away, as if all its devices and words were lost; for the operator.
    ///
    /// - Throws: `AccountError`.
    package func reset(email: String) async throws {
        let now = surroundings.now()
        guard let address = EmailAddress(email) else { throw AccountError.emailInvalid(email) }
        try await book.change { page in
            guard var account = try await page.account(address) else { throw AccountError.notFound(email) }
            account.keychainGeneration += 1
            page.clear(AccountKey.keychain(of: account.id))
            try page.beginReset(of: &account, now: now)
            try page.set(AccountKey.account(account.id), to: account)
        }
    }

    // MARK: Recovery

    /// What someone gets who knows the recovery words: the wrapped secret.
    package struct Recovery: Hashable, Sendable {
        package var generation: Int
        package var recoveryWrap: [UInt8]
        package var identity: [UInt8]
    }

    /// Lets someone begin a recovery.
    ///
    /// - Throws: `RequestFailure` `authenticationFailed`, the same for wrong words, a stranger, and an account without a
    ///   keychain; `throttled`.
    package func recovery(email: String, proof: [UInt8], address: String) async throws -> Recovery {
        try await recovering(email: email, proof: proof, address: address) { _, _, keychain in
            Recovery(
                generation: keychain.generation, recoveryWrap: keychain.recoveryWrap, identity: keychain.identity)
        }
    }

    /// Sets another password, known by the recovery words, and wraps the secret with it.
    ///
    /// - Parameters:
    ///   - proof: Of the recovery words.
    ///   - generation: Of the keychain whose secret is wrapped here.
    package func recover(
        email: String, proof: [UInt8], password: NewPassword, generation: Int, address: String
    ) async throws {
        guard let passwordWrap = password.wrap else { throw RequestFailure.wrapMissing }
        try password.check(roundsMin: guesses.roundsMin)
        let lock = Accounts(book: book, surroundings: surroundings).lock(password.proof, password.puzzle)
        try await recovering(email: email, proof: proof, address: address) { page, account, keychain in
            guard keychain.generation == generation else { throw RequestFailure.keychainConflict }
            keychain.passwordWrap = passwordWrap
            account.lock = lock
            try page.set(AccountKey.keychain(of: account.id), to: keychain)
            try page.set(AccountKey.account(account.id), to: account)
        }
    }

    // MARK: Passwords

    /// Sets another password for an account, known by the old one, and wraps its secret anew in the same transaction.
    ///
    /// Devices stay signed in.
    ///
    /// - Parameters:
    ///   - proof: Of the old password.
    ///   - generation: Of the device's secret; of no meaning to an account without a keychain.
    package func changePassword(
        to password: NewPassword, generation: Int, proof: [UInt8], by device: DeviceKey, address: String
    ) async throws {
        try password.check(roundsMin: guesses.roundsMin)
        let lock = Accounts(book: book, surroundings: surroundings).lock(password.proof, password.puzzle)
        try await change(by: device, proof: proof, address: address) { page, _, account in
            if try await page.get(AccountKey.keychain(of: account.id)) != nil {
                guard let wrap = password.wrap else { throw RequestFailure.wrapMissing }
                var keychain = try await page.keychain(of: account, generation: generation)
                keychain.passwordWrap = wrap
                try page.set(AccountKey.keychain(of: account.id), to: keychain)
            }
            account.lock = lock
            try page.set(AccountKey.account(account.id), to: account)
        }
    }

    // MARK: What these have in common

    /// Changes an account for a device that knows its password.
    private func change<Value: Sendable>(
        by device: DeviceKey, proof: [UInt8], address: String,
        _ body: @Sendable (inout Book.Page, inout DeviceSession, inout Account) async throws -> Value
    ) async throws -> Value {
        let now = surroundings.now()
        let email = try await DeviceSessions(book: book).owner(of: device, now: now).account.email
        return try await guesses.count(email: email, address: address, now: now) {
            try await book.change { page in
                var (session, account) = try await page.owner(of: device, now: now)
                guard account.lock.opens(with: proof) else { throw RequestFailure.wrongPassword }
                return try await body(&page, &session, &account)
            }
        }
    }

    private func recovering<Value: Sendable>(
        email: String, proof: [UInt8], address: String,
        _ body: @Sendable (inout Book.Page, inout Account, inout Keychain) throws -> Value
    ) async throws -> Value {
        guard let emailAddress = EmailAddress(email) else { throw RequestFailure.malformedEmail }
        return try await guesses.count(email: emailAddress.normalised, address: address, now: surroundings.now()) {
            try await book.change { page in
                guard var account = try await page.account(emailAddress),
                    var keychain: Keychain = try await page.row(AccountKey.keychain(of: account.id)),
                    keychain.recovery.opens(with: proof)
                else { throw RequestFailure.wrongWords }
                guard !account.isDisabled else { throw RequestFailure.accountDisabled }
                return try body(&page, &account, &keychain)
            }
        }
    }
}

/// A password about to be set: how to derive the proof, the proof, and the account secret wrapped with it.
package struct NewPassword: Hashable, Sendable {
    package var proof: [UInt8]
    package var puzzle: PasswordPuzzle
    /// nil: the account has no keychain.
    package var wrap: [UInt8]?

    package init(proof: [UInt8], puzzle: PasswordPuzzle, wrap: [UInt8]?) {
        self.proof = proof
        self.puzzle = puzzle
        self.wrap = wrap
    }

    func check(roundsMin: Int) throws(RequestFailure) {
        try Proof.check(proof)
        try puzzle.check(roundsMin: roundsMin)
        if let wrap { try KeychainBounds.check(wrap: wrap) }
    }
}

extension RequestFailure {
    static let wrongWords = RequestFailure(
        .authenticationFailed, "wrong e-mail address or recovery words", remedy: "Check both and try again.")
    static let wrongPassword = RequestFailure(
        .authenticationFailed, "wrong password", remedy: "Check it and try again.")
    fileprivate static let wrapMissing = RequestFailure(
        .badRequest, "the account's keychain has to be wrapped with the new password")
}

extension Book.Page {
    /// The account with an address; nil when there is none.
    func account(_ address: EmailAddress) async throws -> Account? {
        guard let id = try await get(AccountKey.email(address)) else { return nil }
        return try await row(AccountKey.account(String(decoding: id, as: UTF8.self)))
    }

    /// A device's session and account.
    ///
    /// - Throws: `RequestFailure` `authenticationFailed`, `accountRestricted`.
    func owner(of device: DeviceKey, now: Int64) async throws -> (session: DeviceSession, account: Account) {
        guard let owner = try await get(AccountKey.sessionOwner(device.id)),
            let session: DeviceSession = try await row(
                AccountKey.session(device.id, of: String(decoding: owner, as: UTF8.self))),
            session.opens(with: device.secret, now: now),
            let account: Account = try await row(AccountKey.account(session.account))
        else { throw RequestFailure.sessionEnded }
        guard !account.isDisabled else { throw RequestFailure.accountDisabled }
        return (session, account)
    }

    fileprivate func keychain(of account: Account, generation: Int) async throws -> Keychain {
        guard let keychain: Keychain = try await row(AccountKey.keychain(of: account.id)) else {
            throw RequestFailure.keychainMissing
        }
        guard keychain.generation == generation else { throw RequestFailure.keychainConflict }
        return keychain
    }

    /// Puts the next generation into place, with the device that made it.
    fileprivate mutating func replaceKeychain(
        _ offer: KeychainOffer, _ salt: [UInt8], of account: inout Account, by session: inout DeviceSession
    ) throws {
        account.keychainGeneration += 1
        session.keychainGeneration = account.keychainGeneration
        let keychain = Keychain(offer, generation: account.keychainGeneration, recoverySalt: salt)
        try set(AccountKey.keychain(of: account.id), to: keychain)
        try set(AccountKey.session(session.id, of: account.id), to: session)
        try set(AccountKey.account(account.id), to: account)
    }

    /// Leaves word that the account's zones have to be marked. The caller stores the account.
    fileprivate mutating func beginReset(of account: inout Account, now: Int64) throws {
        account.isResettingKeys = true
        try set(AccountKey.keyReset(of: account.id), to: KeyReset(account: account.id, begun: now))
    }
}
