import Crypto

/// Wraps the account secret: from the password, from the recovery key, or from a passkey.
package struct WrappingKey: Equatable, Sendable {
    enum Purpose: String {
        case password, recovery, passkey
    }

    let purpose: Purpose
    let material: KeyMaterial
}

extension WrappingKey {
    /// The input of every passkey's PRF (WebAuthn, §10.1.4); its output differs for each passkey.
    package static let passkeyInput = Array("welkin passkey prf 1".utf8)

    /// Returns the key that follows from what an authenticator computes.
    ///
    /// - Parameter output: Of the passkey's PRF for `passkeyInput`: 32 bytes.
    package static func passkey(output: [UInt8]) -> WrappingKey {
        WrappingKey(
            purpose: .passkey,
            material: KeyMaterial(SecretProof.derive(from: SymmetricKey(data: output), info: "welkin passkey wrap 1")))
    }
}

/// Proofs of a secret that users keep, given to the cloud.
enum SecretProof {
    /// HKDF with SHA-256 and an empty salt, to 32 bytes.
    static func derive(from secret: SymmetricKey, info: String) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: secret, info: Array(info.utf8), outputByteCount: 32)
    }
}
