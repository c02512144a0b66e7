import Crypto
import Foundation

/// The private keys by which an account signs and receives keys; derived from its secret, the same on each of its devices.
package struct AccountIdentity: Sendable {
    let signing: Curve25519.Signing.PrivateKey
    let agreement: Curve25519.KeyAgreement.PrivateKey

    /// The public part, which the cloud stores in the open.
    package let publicIdentity: PublicIdentity

    init(signing signingSeed: KeyMaterial, agreement agreementSeed: KeyMaterial) throws(EncryptionError) {
        do {
            signing = try Curve25519.Signing.PrivateKey(rawRepresentation: signingSeed.bytes)
            agreement = try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: agreementSeed.bytes)
            let message = PublicIdentity.message(
                signing: signing.publicKey.rawRepresentation, agreement: agreement.publicKey.rawRepresentation)
            publicIdentity = PublicIdentity(
                signing: signing.publicKey, agreement: agreement.publicKey,
                signature: Array(try signing.signature(for: message)))
        } catch {
            throw .malformed(.identity, reason: "its keys cannot be made")
        }
    }
}
