import CloudKitEncryption

/// Proves that someone knows an account's password, without showing it.
///
/// `PasswordRoot` makes guessing expensive and parts the proof from what wraps the account's keys. The cloud stores a hash of
/// the proof.
package struct PasswordProof: Hashable, Sendable {
    /// 32 bytes.
    package var bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// The rounds of accounts made in earnest; about a third of a second on one core.
    package static let roundsDefault = 600_000

    /// The most rounds a device will work: a cloud that asks for more is broken or means harm.
    package static let roundsMax = 10_000_000

    /// Derives the proof; takes as long as `rounds` say.
    package init(password: String, salt: [UInt8], rounds: Int) throws {
        self.init(try PasswordRoot(password: password, salt: salt, rounds: rounds))
    }

    /// The proof of a root that gives the wrapping key as well.
    package init(_ root: PasswordRoot) { bytes = root.proof }
}
