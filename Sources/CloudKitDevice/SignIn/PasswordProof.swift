import CloudKitEncryption

/// Proves that someone knows an account's password, without showing it.
///
/// PBKDF2 over SHA-256 makes guessing expensive and exists in browsers too; HKDF then parts what proves the account from
/// what wraps the account's secret. The cloud stores a hash of the proof.
package struct PasswordProof: Hashable, Sendable {
    /// 32 bytes.
    package var bytes: [UInt8]

    /// Creates a value with the given properties.
    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// The rounds of accounts made in earnest; about a third of a second on one core. A device works no fewer: a cloud that
    /// asks for less wants a proof from which the password can be guessed.
    package static let roundsDefault = 600_000

    /// The most rounds a device will work: a cloud that asks for more is broken or means harm.
    package static let roundsMax = 10_000_000

    /// Derives the proof; the time it takes grows with `rounds`.
    ///
    /// The password's spelling is normalised (NFKC), so that keyboards which compose accents differently agree.
    package init(password: String, salt: [UInt8], rounds: Int) throws {
        bytes = try PasswordRoot(password: password, salt: salt, rounds: rounds).proof
    }
}
