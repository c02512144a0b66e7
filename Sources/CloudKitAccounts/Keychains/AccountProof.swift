import CloudKitModel
import CloudKitRecordLayer

/// The proof that a person agrees to what a session alone must not do: other recovery words, another password, the deletion.
package enum AccountProof: Hashable, Sendable {
    /// Derived from the password.
    case password([UInt8])
    /// Derived from the recovery words.
    case recoveryWords([UInt8])
    /// The use of a passkey, with a challenge for this account.
    case passkey(PasskeyAssertion)
}

extension StorageWriter {
    /// Checks a proof.
    ///
    /// - Parameters:
    ///   - proof: The proof.
    ///   - account: The account of the sender.
    ///   - verifier: Verifies passkeys.
    ///   - now: Milliseconds since 1970.
    /// - Throws: `RequestFailure` `authenticationFailed`.
    mutating func check(
        _ proof: AccountProof, of account: Account, _ verifier: PasskeyVerifier, now: Int64
    ) async throws {
        switch proof {
        case .password(let proof):
            guard account.password.matches(proof) else { throw RequestFailure.wrongPassword }
        case .recoveryWords(let proof):
            guard let keychain = try await Keychain.table.row(account.id, in: self), keychain.recovery.matches(proof)
            else { throw RequestFailure.wrongWords }
        case .passkey(let assertion):
            let passkey = try await verifier.verify(
                assertion, for: .agreement(account: account.id), now: now, in: &self)
            guard passkey.account == account.id else { throw RequestFailure.wrongPasskey }
        }
    }
}

extension AccountStore {
    /// Changes an account for a sender whose person agrees.
    ///
    /// - Parameters:
    ///   - proof: Of the person.
    ///   - sender: A device of the account, or a browser on a page of the cloud.
    ///   - address: The network address that sends the request, to slow down guessing.
    ///   - proofLimiter: The one count of wrong proofs.
    ///   - body: The change, in the transaction in which the proof was checked.
    /// - Throws: `RequestFailure` `authenticationFailed`, `throttled`.
    func agreed<Value: Sendable>(
        _ proof: AccountProof, by sender: AccountSender, address: String, _ proofLimiter: ProofLimiter,
        _ body: @Sendable (inout StorageWriter, inout DeviceSession, inout Account) async throws -> Value
    ) async throws -> Value {
        let now = serverEnvironment.now()
        let email = try await sessions.owner(of: sender, now: now).account.email
        return try await proofLimiter.count(email: email, address: address, now: now, in: self) {
            try await write { transaction in
                var (session, account) = try await transaction.owner(of: sender, now: now)
                try await transaction.check(proof, of: account, PasskeyVerifier(serverEnvironment), now: now)
                return try await body(&transaction, &session, &account)
            }
        }
    }
}
