import Crypto
import Foundation

/// A record's key for the owner of its zone, sealed to their agreement key: 32 bytes encapsulated, 48 sealed.
///
/// The owner derives all other keys that open a record, except where a share's key is an administrator's: with this
/// wrap the owner opens values that members seal under any key the administrator gave them, and after the share has
/// ended.
enum OwnerWrap {
    static let byteCount = 80

    private static var suite: HPKE.Ciphersuite {
        HPKE.Ciphersuite(kem: .Curve25519_HKDF_SHA256, kdf: .HKDF_SHA256, aead: .AES_GCM_256)
    }
    private static let info = Data(Frame("welkin record key for owner 1").bytes)

    /// The sealing draws on the system's randomness alone: the library offers no other.
    static func wrap(
        _ key: KeyMaterial, for owner: PublicIdentity, authenticating frame: Frame, item: EncryptionError.Item
    ) throws(EncryptionError) -> [UInt8] {
        do {
            var sender = try HPKE.Sender(recipientKey: owner.agreement, ciphersuite: suite, info: info)
            let sealed = try sender.seal(key.bytes, authenticating: frame.bytes)
            return Array(sender.encapsulatedKey) + Array(sealed)
        } catch {
            throw .malformed(item, reason: "it cannot be sealed to the owner's key")
        }
    }

    static func unwrap(
        _ bytes: [UInt8], with owner: AccountIdentity, authenticating frame: Frame, item: EncryptionError.Item
    ) throws(EncryptionError) -> KeyMaterial {
        do {
            var recipient = try HPKE.Recipient(
                privateKey: owner.agreement, ciphersuite: suite, info: info, encapsulatedKey: Data(bytes.prefix(32)))
            let plain = try recipient.open(Data(bytes.dropFirst(32)), authenticating: frame.bytes)
            guard plain.count == KeyMaterial.byteCount else { throw EncryptionError.doesNotOpen(item) }
            return KeyMaterial(plain)
        } catch {
            throw .doesNotOpen(item)
        }
    }
}
