import Crypto
import CryptoExtras
import Foundation

/// The result of one long computation on a password: a proof for the cloud, and a key that the cloud never sees.
package struct PasswordRoot: Sendable {
    private let root: SymmetricKey

    /// Derives a root with PBKDF2 over HMAC-SHA-256 to 32 bytes, which browsers support too; the time it takes grows
    /// with `rounds`.
    ///
    /// The password's spelling is normalised (NFKC), so that keyboards which compose accents differently agree.
    ///
    /// - Throws: `malformed` for less than one round.
    package init(password: String, salt: [UInt8], rounds: Int) throws(EncryptionError) {
        guard rounds >= 1, rounds <= UInt32.max else {
            throw .malformed(.password, reason: "impossible number of rounds")
        }
        do {
            root = try KDF.Insecure.PBKDF2.deriveKey(
                from: Array(password.precomposedStringWithCompatibilityMapping.utf8), salt: salt, using: .sha256,
                outputByteCount: 32, unsafeUncheckedRounds: rounds)
        } catch {
            throw .malformed(.password, reason: "no key can be derived from it")
        }
    }

    /// Proves to the cloud that someone knows the password; 32 bytes.
    package var proof: [UInt8] {
        SecretProof.derive(from: root, info: "welkin account proof 1").withUnsafeBytes { Array($0) }
    }

    /// Wraps the account secret; nothing about it can be had from the proof.
    package var wrappingKey: WrappingKey {
        WrappingKey(
            purpose: .password, material: KeyMaterial(SecretProof.derive(from: root, info: "welkin account wrap 1")))
    }
}
