import Crypto
import CryptoExtras
import Foundation

/// Proves that someone knows an account's password, without showing it.
///
/// PBKDF2 over SHA-256 makes guessing expensive and exists in browsers too; HKDF then parts what proves the account from
/// what may one day wrap the account's keys. The cloud stores a hash of the proof.
package struct PasswordProof: Hashable, Sendable {
    /// 32 bytes.
    package var bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// The rounds of accounts made in earnest; about a third of a second on one core.
    package static let roundsDefault = 600_000

    /// The most rounds a device will work: a cloud that asks for more is broken or means harm.
    package static let roundsMax = 10_000_000

    /// Derives the proof; takes as long as `rounds` say.
    ///
    /// The password's spelling is normalised (NFKC), so that keyboards which compose accents differently agree.
    package init(password: String, salt: [UInt8], rounds: Int) throws {
        let root = try KDF.Insecure.PBKDF2.deriveKey(
            from: Array(password.precomposedStringWithCompatibilityMapping.utf8), salt: salt, using: .sha256,
            outputByteCount: 32, unsafeUncheckedRounds: rounds)
        let proof = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: root, info: Array("welkin account proof 1".utf8), outputByteCount: 32)
        bytes = proof.withUnsafeBytes { Array($0) }
    }
}
