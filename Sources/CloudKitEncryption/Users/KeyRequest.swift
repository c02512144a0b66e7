import Crypto
import Foundation

/// The secret half of a new device's request for the account's keys: it lives for one request and is stored nowhere.
///
/// The device shows its cloud a commitment first, and the key and the nonce only after another device has drawn its own nonce: so a cloud that
/// stands between both cannot search for keys that make both devices show the same code.
package struct KeyRequest: Sendable {
    /// 32 bytes, revealed with the public key.
    package let nonce: [UInt8]
    let privateKey: Curve25519.KeyAgreement.PrivateKey

    /// Draws the keys of a request.
    package init(random: Randomness = .system) throws(EncryptionError) {
        do {
            privateKey = try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: random.key().bytes)
        } catch {
            throw .malformed(.keyApproval, reason: "its keys cannot be made")
        }
        nonce = random.bytes(KeyMaterial.byteCount)
    }

    /// The key to which the account's secret is sealed: 32 bytes.
    package var publicKey: [UInt8] { Array(privateKey.publicKey.rawRepresentation) }

    /// What the device shows first: 32 bytes.
    package var commitment: [UInt8] {
        KeyApproval.commitment(publicKey: publicKey, nonce: nonce)
    }
}
