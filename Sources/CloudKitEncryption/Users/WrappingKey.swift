import Crypto

/// Wraps the account secret: from the password, or from the recovery key.
package struct WrappingKey: Equatable, Sendable {
    enum Purpose: String {
        case password, recovery
    }

    let purpose: Purpose
    let material: KeyMaterial
}

/// Proofs of a secret that users keep, given to the cloud.
enum SecretProof {
    /// HKDF with SHA-256 and an empty salt, to 32 bytes.
    static func derive(from secret: SymmetricKey, info: String) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: secret, info: Array(info.utf8), outputByteCount: 32)
    }
}
