import CloudKitModel
import CloudKitRecordLayer

/// The keychains of all accounts, as their devices work with them.
///
/// Each change by a device is compared and set in one transaction: of two devices that make or reset a keychain at
/// once, one is refused and has to sign in again.
package struct Keychains: Sendable {
    fileprivate let store: AccountStore
    fileprivate let proofGuard: ProofLimiter

    /// The state of an account's keychain, and of a device's keys.
    package struct Status: Hashable, Sendable {
        /// 0: the account has no keychain yet.
        package var generation: Int
        /// Whether the account has a keychain now.
        package var hasKeychain: Bool
        /// Whether the keychain was reset since the device signed in.
        package var isOutdated: Bool
        /// The public half of the account's keys.
        package var identity: [UInt8]?
    }

    /// Compares the keychain of a device with that of the account.
    package func status(for device: DeviceKey) async throws -> Status {
        let now = store.serverEnvironment.now()
        return try await store.read { transaction in
            let (session, account) = try await transaction.owner(of: device, now: now)
            let keychain = try await Keychain.table.row(account.id, in: transaction)
            return Status(
                generation: account.keychainGeneration, hasKeychain: keychain != nil,
                isOutdated: session.isOutdated(for: account), identity: keychain?.identity)
        }
    }

    /// Gives an account its keychain; the device is then signed in with it.
    ///
    /// - Returns: The keychain's generation.
    /// - Throws: `RequestFailure` `conflict` when there is one already.
    package func create(_ offer: KeychainUpload, by device: DeviceKey) async throws -> Int {
        try await create(offer, by: .device(device))
    }

    /// Gives an account its keychain; the device or browser is then signed in with it.
    ///
    /// - Parameters:
    ///   - offer: The keychain.
    ///   - sender: A device of the account, or a browser on a page of the cloud.
    /// - Returns: The keychain's generation.
    /// - Throws: `RequestFailure` `conflict` when there is one already.
    package func create(_ offer: KeychainUpload, by sender: AccountSender) async throws -> Int {
        try offer.check()
        let now = store.serverEnvironment.now()
        let salt = store.serverEnvironment.random(16)
        return try await store.write { transaction in
            var (session, account) = try await transaction.owner(of: sender, now: now)
            guard try await Keychain.table.row(account.id, in: transaction) == nil, !session.isOutdated(for: account)
            else { throw RequestFailure.keychainConflict }
            try offer.check(for: account)
            try transaction.replaceKeychain(offer, recoverySalt: salt, of: &account)
            session.keychainGeneration = account.keychainGeneration
            try transaction.set(session)
            return account.keychainGeneration
        }
    }

    /// Replaces wrapped forms of the same secret.
    ///
    /// - Parameters:
    ///   - passwordWrap: nil: stays.
    ///   - recovery: New recovery words; the old ones are then invalid. nil: stay.
    ///   - generation: The one of the sender's secret.
    ///   - proof: Of the person.
    ///   - sender: A device of the account, or a browser on a page of the cloud.
    ///   - address: The network address that sends the request.
    package func rewrap(
        passwordWrap: [UInt8]?, recovery: RecoveryUpload?, generation: Int, proof: AccountProof,
        by sender: AccountSender, address: String
    ) async throws {
        if let passwordWrap { try KeychainBounds.check(wrap: passwordWrap) }
        try recovery?.check()
        let salt = store.serverEnvironment.random(16)
        try await change(by: sender, proof: proof, address: address) { transaction, _, account in
            var keychain = try await transaction.keychain(of: account, generation: generation)
            if let passwordWrap { keychain.passwordWrap = passwordWrap }
            if let recovery {
                keychain.recoveryWrap = recovery.wrap
                keychain.recovery = ProofHash(recovery.proof, salt: salt)
            }
            try Keychain.table.set(account.id, to: keychain, in: &transaction)
        }
    }

    /// Replaces the keys by others, because the old ones are lost: what they sealed is lost too (B-TM-12).
    ///
    /// All devices have to sign in again, also the one that sends this: the answer may not reach it, and what its apps have sent with the old
    /// keys may come later.
    ///
    /// Zones are marked afterwards, by `Cloud.finishKeyResets`; until then private and shared databases answer
    /// `tryAgainLater`.
    ///
    /// - Parameter generation: The one to be replaced.
    /// - Returns: The new generation.
    package func reset(
        to offer: KeychainUpload, replacing generation: Int, proof: AccountProof, by device: DeviceKey, address: String
    ) async throws -> Int {
        try offer.check()
        let now = store.serverEnvironment.now()
        let salt = store.serverEnvironment.random(16)
        return try await change(by: .device(device), proof: proof, address: address) { transaction, _, account in
            guard try await Keychain.table.row(account.id, in: transaction) != nil else {
                throw RequestFailure.keychainMissing
            }
            guard account.keychainGeneration == generation else { throw RequestFailure.keychainConflict }
            try offer.check(for: account)
            try transaction.beginReset(of: &account, now: now)
            try transaction.replaceKeychain(offer, recoverySalt: salt, of: &account)
            return account.keychainGeneration
        }
    }

    /// Removes an account's keychain, as if all its devices and words were lost; for the operator.
    ///
    /// - Throws: `AccountError`.
    package func reset(email: String) async throws {
        let now = store.serverEnvironment.now()
        guard let address = EmailAddress(email) else { throw AccountError.emailInvalid(email) }
        try await store.write { transaction in
            guard var account = try await transaction.account(address) else { throw AccountError.notFound(email) }
            account.keychainGeneration += 1
            Keychain.table.clear(account.id, in: &transaction)
            try transaction.beginReset(of: &account, now: now)
            try transaction.noteDirectoryChange(.account(account.id))
            try Account.table.set(account.id, to: account, in: &transaction)
        }
    }

    /// The parts of a keychain that open it for a person who agreed.
    package struct Opening: Hashable, Sendable {
        /// The keychain.
        package var keychain: Keychain
        /// The account secret, wrapped by what the person showed: the password, the recovery words, or the passkey.
        package var wrap: [UInt8]
    }

    /// Gives a browser that is signed in without keys the keychain, wrapped for what its person shows.
    ///
    /// - Parameters:
    ///   - proof: Of the person.
    ///   - sender: A browser on a page of the cloud.
    ///   - address: The network address that sends the request.
    /// - Throws: `RequestFailure` `authenticationFailed`; `accessDenied` where the account's owner lets no browser have keys; `itemNotFound` for
    ///   a passkey that opens none.
    package func open(by sender: AccountSender, proof: AccountProof, address: String) async throws -> Opening {
        try await change(by: sender, proof: proof, address: address) { transaction, session, account in
            guard session.mayHaveKeys(of: account) else { throw RequestFailure.browsersWithoutKeys }
            let keychain = try await transaction.keychain(of: account, generation: account.keychainGeneration)
            let wrap: [UInt8]
            switch proof {
            case .password: wrap = keychain.passwordWrap
            case .recoveryWords: wrap = keychain.recoveryWrap
            case .passkey(let assertion):
                let passkey = try await transaction.passkey(assertion.id)
                guard let own = passkey?.wrap, passkey?.opensKeys(of: account) == true else {
                    throw RequestFailure(.itemNotFound, "the passkey opens no keys", remedy: "Use the recovery words.")
                }
                wrap = own
            }
            session.keychainGeneration = account.keychainGeneration
            try transaction.set(session)
            return Opening(keychain: keychain, wrap: wrap)
        }
    }

    // MARK: Recovery

    /// The parts of a keychain that the recovery words open.
    package struct Recovery: Hashable, Sendable {
        /// Of the keychain.
        package var generation: Int
        /// The account secret, wrapped by a key from the recovery words.
        package var recoveryWrap: [UInt8]
        /// The public half of the account's keys.
        package var identity: [UInt8]
    }

    /// Begins a recovery with the proof of the recovery words.
    ///
    /// - Throws: `RequestFailure` `authenticationFailed`, the same for wrong words, an unknown address, and an account without a
    ///   keychain; `throttled`.
    package func recovery(email: String, proof: [UInt8], address: String) async throws -> Recovery {
        try await recovering(email: email, proof: proof, address: address) { _, _, keychain in
            Recovery(
                generation: keychain.generation, recoveryWrap: keychain.recoveryWrap, identity: keychain.identity)
        }
    }

    /// Sets another password with the proof of the recovery words, and wraps the secret with it.
    ///
    /// - Parameters:
    ///   - proof: Of the recovery words.
    ///   - generation: Of the keychain whose secret is wrapped here.
    package func recover(
        email: String, proof: [UInt8], password: NewPassword, generation: Int, address: String
    ) async throws {
        guard let passwordWrap = password.wrap else { throw RequestFailure.wrapMissing }
        try password.check(roundsMin: proofGuard.roundsMin)
        let verifier = store.accounts.newVerifier(password.proof, password.derivation)
        try await recovering(email: email, proof: proof, address: address) { transaction, account, keychain in
            guard keychain.generation == generation else { throw RequestFailure.keychainConflict }
            keychain.passwordWrap = passwordWrap
            account.setPassword(verifier)
            try Keychain.table.set(account.id, to: keychain, in: &transaction)
            try Account.table.set(account.id, to: account, in: &transaction)
        }
    }

    // MARK: Passwords

    /// Sets another password for an account with the proof of the old one, and wraps its secret again in the same transaction.
    ///
    /// Devices stay signed in.
    ///
    /// - Parameters:
    ///   - proof: Of the person, by the old password or otherwise.
    ///   - generation: Of the sender's secret; ignored for an account without a keychain.
    ///   - sender: A device of the account, or a browser on a page of the cloud.
    package func changePassword(
        to password: NewPassword, generation: Int, proof: AccountProof, by sender: AccountSender, address: String
    ) async throws {
        try password.check(roundsMin: proofGuard.roundsMin)
        let verifier = store.accounts.newVerifier(password.proof, password.derivation)
        try await change(by: sender, proof: proof, address: address) { transaction, _, account in
            if try await Keychain.table.row(account.id, in: transaction) != nil {
                guard let wrap = password.wrap else { throw RequestFailure.wrapMissing }
                var keychain = try await transaction.keychain(of: account, generation: generation)
                keychain.passwordWrap = wrap
                try Keychain.table.set(account.id, to: keychain, in: &transaction)
            }
            account.setPassword(verifier)
            try Account.table.set(account.id, to: account, in: &transaction)
        }
    }

    // MARK: Transactions

    /// Changes an account for a sender whose person agrees.
    private func change<Value: Sendable>(
        by sender: AccountSender, proof: AccountProof, address: String,
        _ body: @Sendable (inout StorageWriter, inout DeviceSession, inout Account) async throws -> Value
    ) async throws -> Value {
        try await store.agreed(proof, by: sender, address: address, proofGuard, body)
    }

    /// Works on an account and its keychain for the holder of its recovery words.
    private func recovering<Value: Sendable>(
        email: String, proof: [UInt8], address: String,
        _ body: @Sendable (inout StorageWriter, inout Account, inout Keychain) throws -> Value
    ) async throws -> Value {
        guard let emailAddress = EmailAddress(email) else { throw RequestFailure.malformedEmail }
        let now = store.serverEnvironment.now()
        return try await proofGuard.count(email: emailAddress.normalised, address: address, now: now, in: store) {
            try await store.write { transaction in
                guard var account = try await transaction.account(emailAddress),
                    var keychain = try await Keychain.table.row(account.id, in: transaction),
                    keychain.recovery.matches(proof)
                else { throw RequestFailure.wrongWords }
                guard !account.isDisabled else { throw RequestFailure.accountDisabled }
                return try body(&transaction, &account, &keychain)
            }
        }
    }
}

extension RequestFailure {
    static let wrongWords = RequestFailure(
        .authenticationFailed, "wrong e-mail address or recovery words", remedy: "Check both and try again.")
    fileprivate static let wrapMissing = RequestFailure(
        .badRequest, "the account's keychain has to be wrapped with the new password")
}

extension StorageWriter {
    /// Stores the next generation of a keychain.
    fileprivate mutating func replaceKeychain(
        _ offer: KeychainUpload, recoverySalt: [UInt8], of account: inout Account
    ) throws {
        account.keychainGeneration += 1
        let keychain = Keychain(offer, generation: account.keychainGeneration, recoverySalt: recoverySalt)
        try Keychain.table.set(account.id, to: keychain, in: &self)
        try noteDirectoryChange(.account(account.id))
        try Account.table.set(account.id, to: account, in: &self)
    }

    /// Notes that the account's zones have to be marked. The caller stores the account.
    fileprivate mutating func beginReset(of account: inout Account, now: Int64) throws {
        account.isResettingKeys = true
        try KeyReset.table.set(account.id, to: KeyReset(account: account.id, begun: now), in: &self)
    }
}

extension AccountStore {
    /// Returns the keychains of all accounts.
    ///
    /// - Parameter proofGuard: The one that sign-in uses, so that there is one count of wrong proofs.
    package func keychains(_ proofGuard: ProofLimiter) -> Keychains { Keychains(store: self, proofGuard: proofGuard) }
}
