import CloudKitModel
import CloudKitRecordLayer

/// The keys of an account as the cloud keeps them: wrapped forms that it cannot open, and the public identity.
///
/// Every part is opaque here; `docs/encryption.md` specifies what devices put into them.
package struct Keychain: StoredRow, Hashable {
    /// As the account's `keychainGeneration`; changes when the keys do.
    package internal(set) var generation: Int
    /// The account secret, wrapped by a key from the password.
    package internal(set) var passwordWrap: [UInt8]
    /// The account secret, wrapped by a key from the recovery words.
    package internal(set) var recoveryWrap: [UInt8]
    /// The public half of the account's keys, to which others address keys.
    package internal(set) var identity: [UInt8]
    var recovery: ProofHash

    init(_ offer: KeychainUpload, generation: Int, recoverySalt: [UInt8]) {
        self.generation = generation
        passwordWrap = offer.passwordWrap
        recoveryWrap = offer.recovery.wrap
        identity = offer.identity
        recovery = ProofHash(offer.recovery.proof, salt: recoverySalt)
    }

    /// account → `Keychain`
    package static let table = RowTable<String, Keychain>("keychain")
}

extension StorageView {
    /// Returns the keychain of an account, if it is of a generation.
    ///
    /// - Throws: `RequestFailure` `itemNotFound`, `conflict`.
    func keychain(of account: Account, generation: Int) async throws -> Keychain {
        guard let keychain = try await Keychain.table.row(account.id, in: self) else {
            throw RequestFailure.keychainMissing
        }
        guard keychain.generation == generation else { throw RequestFailure.keychainConflict }
        return keychain
    }
}

extension RequestFailure {
    static let browsersWithoutKeys = RequestFailure(
        .accessDenied, "the account's owner lets no browser read encrypted data",
        remedy: "Allow it with: welkin keychain web on")
    package static let keychainOutdated = RequestFailure(
        .accountTemporarilyUnavailable, "the account's keys were reset since this device signed in",
        remedy: "Sign in again.")
    static let keychainConflict = RequestFailure(
        .conflict, "another device changed the keychain meanwhile", remedy: "Sign in again.")
    static let keychainMissing = RequestFailure(
        .itemNotFound, "the account has no keychain", remedy: "Sign a device in; the first one makes it.")
}
