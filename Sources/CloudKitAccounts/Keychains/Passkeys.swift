import CloudKitModel
import CloudKitRecordLayer
import WebCredentials

/// The passkeys of accounts, as their people work with them.
package struct Passkeys: Sendable {
    let store: AccountStore
    let proofLimiter: ProofLimiter

    private var verifier: PasskeyVerifier { PasskeyVerifier(store.serverEnvironment) }

    /// What a browser needs to make or use a passkey.
    package struct Beginning: Hashable, Sendable {
        /// To be signed by the authenticator.
        package var challenge: [UInt8]
        /// The account, for a new passkey and for an agreement.
        package var account: Account?
        /// The handle of the account, for a new passkey.
        package var userHandle: [UInt8]?
        /// The account's passkeys, of which one is to be used, and none is to be made a second time.
        package var known: [Passkey] = []
    }

    /// Returns the challenge for a sign-in.
    package func beginSignIn() -> Beginning {
        Beginning(challenge: verifier.challenge(for: .signIn, now: store.serverEnvironment.now()))
    }

    /// Returns the challenge for a new passkey, or for an agreement by one.
    ///
    /// - Parameters:
    ///   - isNew: Whether a passkey is to be made.
    ///   - sender: A device of the account, or a browser on a page of the cloud.
    package func begin(isNew: Bool, by sender: AccountSender) async throws -> Beginning {
        let now = store.serverEnvironment.now()
        return try await store.read { view in
            let account = try await view.owner(of: sender, now: now).account
            let purpose: PasskeyPurpose =
                isNew ? .registration(account: account.id) : .agreement(account: account.id)
            return Beginning(
                challenge: verifier.challenge(for: purpose, now: now), account: account,
                userHandle: isNew ? verifier.userHandle(ofAccount: account.id) : nil,
                known: try await view.passkeys(of: account.id))
        }
    }

    /// A passkey that is about to be added.
    package struct Addition: Hashable, Sendable {
        /// The name that the person sees.
        package var name: String
        /// What the browser saw.
        package var ceremony: PasskeyCeremony
        /// CBOR with the authenticator's data.
        package var attestation: [UInt8]
        /// The account secret, wrapped by a key from the authenticator; nil: it opens no keys.
        package var wrap: [UInt8]?
        /// The generation of the keychain whose secret is wrapped.
        package var generation: Int?

        /// Creates an addition from its parts; they are not checked.
        package init(
            name: String, ceremony: PasskeyCeremony, attestation: [UInt8], wrap: [UInt8]?, generation: Int?
        ) {
            self.name = name
            self.ceremony = ceremony
            self.attestation = attestation
            self.wrap = wrap
            self.generation = generation
        }
    }

    /// Adds a passkey to an account.
    ///
    /// - Parameters:
    ///   - addition: The passkey.
    ///   - proof: Of the person.
    ///   - sender: A device of the account, or a browser on a page of the cloud.
    ///   - address: The network address that sends the request.
    /// - Throws: `RequestFailure` `badRequest`, `authenticationFailed`, `conflict` for keys that were replaced, `itemLimitExceeded`,
    ///   `recordExists`.
    package func add(
        _ addition: Addition, proof: AccountProof, by sender: AccountSender, address: String
    ) async throws -> Passkey {
        if let wrap = addition.wrap { try KeychainBounds.check(wrap: wrap) }
        let now = store.serverEnvironment.now()
        return try await store.agreed(proof, by: sender, address: address, proofLimiter) { transaction, _, account in
            let key = try await verifier.register(
                addition.ceremony, attestation: addition.attestation, ofAccount: account.id, now: now,
                in: &transaction)
            if addition.wrap != nil {
                _ = try await transaction.keychain(of: account, generation: addition.generation ?? 0)
            }
            guard try await transaction.passkey(key.id) == nil else {
                throw RequestFailure(.recordExists, "this passkey is in use already")
            }
            guard try await transaction.passkeys(of: account.id).count < Passkey.countMax else {
                throw RequestFailure(
                    .itemLimitExceeded, "an account has at most \(Passkey.countMax) passkeys", remedy: "Remove one.")
            }
            let passkey = Passkey(
                id: key.id, account: account.id, name: String(addition.name.prefix(Passkey.nameCharactersMax)),
                party: addition.ceremony.party.id, publicKey: key.publicKey, counter: key.counter,
                isBackedUp: key.isBackedUp, created: now, wrap: addition.wrap,
                generation: addition.wrap == nil ? nil : addition.generation)
            try Passkey.table.set(passkey.rowKey, to: passkey, in: &transaction)
            try Passkey.owners.set(passkey.rowKey.name, to: account.id, in: &transaction)
            return passkey
        }
    }

    /// Removes a passkey of an account.
    ///
    /// - Parameters:
    ///   - id: The authenticator's identifier of the key.
    ///   - sender: A device of the account, or a browser on a page of the cloud.
    /// - Throws: `RequestFailure` `itemNotFound`.
    package func remove(_ id: [UInt8], by sender: AccountSender) async throws {
        let now = store.serverEnvironment.now()
        try await store.write { transaction in
            let account = try await transaction.owner(of: sender, now: now).account
            guard let passkey = try await transaction.passkey(id), passkey.account == account.id else {
                throw RequestFailure(.itemNotFound, "the account has no such passkey")
            }
            transaction.clear(passkey)
        }
    }

    /// Returns the passkeys of an account, oldest first.
    package func list(ofAccount id: String) async throws -> [Passkey] {
        try await store.read { try await $0.passkeys(of: id) }
    }
}

extension AccountStore {
    /// Returns the passkeys of all accounts.
    ///
    /// - Parameter proofLimiter: The one count of wrong proofs.
    package func passkeys(_ proofLimiter: ProofLimiter) -> Passkeys {
        Passkeys(store: self, proofLimiter: proofLimiter)
    }
}
