import Crypto
import Foundation

/// The encryption of messages for one browser, so that the push service cannot read them: RFC 8291, in the form of RFC 8188
/// (`aes128gcm`), as one record.
struct MessageEncryption {
    /// The maximum body size that push services accept (RFC 8291 §4).
    static let bodyBytesMax = 4096
    /// The size of the header: salt, record size, key length, key.
    static let headerBytes = 16 + 4 + 1 + 65
    /// The maximum size of a message: the body without header, delimiter of the last record, and tag.
    static let plainBytesMax = bodyBytesMax - headerBytes - 1 - 16
    static let saltBytes = 16
    /// The multiple to which messages are padded, so that their exact length is not revealed.
    private static let stepBytes = 256
    /// The record size; a message is one record.
    private static let recordBytes = UInt32(bodyBytesMax)

    var subscription: WebPushSubscription

    /// Encrypts a message.
    ///
    /// - Parameters:
    ///   - key: The ephemeral key of this message.
    ///   - salt: 16 random bytes.
    ///   - isPadded: Whether the message is padded.
    /// - Throws: `MessageTooLong`; `CryptoKitError` for an invalid key, which a parsed subscription never has.
    func seal(_ message: [UInt8], key: P256.KeyAgreement.PrivateKey, salt: [UInt8], isPadded: Bool = true) throws
        -> [UInt8]
    {
        guard message.count <= Self.plainBytesMax else { throw MessageTooLong() }
        let browser = try P256.KeyAgreement.PublicKey(x963Representation: subscription.key)
        let own = Array(key.publicKey.x963Representation)
        let shared = try key.sharedSecretFromKeyAgreement(with: browser)
        let secret = shared.hkdfDerivedSymmetricKey(
            using: SHA256.self, salt: subscription.authentication,
            sharedInfo: Array("WebPush: info\u{0}".utf8) + subscription.key + own, outputByteCount: 32)
        let contentKey = Self.derive(secret, salt: salt, info: "Content-Encoding: aes128gcm\u{0}", bytes: 16)
        let nonce = Self.derive(secret, salt: salt, info: "Content-Encoding: nonce\u{0}", bytes: 12)
            .withUnsafeBytes { Array($0) }
        // 2 delimits the last record; the zeros after it are padding.
        var plain = message + [2]
        if isPadded {
            let step = Self.stepBytes
            let padded = min((message.count + step - 1) / step * step, Self.plainBytesMax)
            plain += [UInt8](repeating: 0, count: max(padded - message.count, 0))
        }
        let box = try AES.GCM.seal(plain, using: contentKey, nonce: AES.GCM.Nonce(data: nonce))
        let size = (0..<4).map { UInt8(truncatingIfNeeded: Self.recordBytes >> (24 - 8 * UInt32($0))) }
        return salt + size + [UInt8(own.count)] + own + Array(box.ciphertext) + Array(box.tag)
    }

    private static func derive(
        _ secret: SymmetricKey, salt: [UInt8], info: String, bytes count: Int
    ) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: secret, salt: salt, info: Array(info.utf8), outputByteCount: count)
    }
}

/// The error of a message that exceeds `plainBytesMax`.
struct MessageTooLong: Error, Hashable, Sendable {}
