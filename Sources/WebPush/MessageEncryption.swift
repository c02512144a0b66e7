import Crypto
import Foundation

/// Seals messages for one browser, so that the push service on the way cannot read them: RFC 8291, in the form of RFC 8188
/// (`aes128gcm`), as one record.
struct MessageEncryption {
    /// Bytes of what a push service takes (RFC 8291 §4).
    static let bodyBytesMax = 4096
    /// Salt, size of records, length of a key, the key.
    static let headerBytes = 16 + 4 + 1 + 65
    /// Bytes of a message: what is left after header, the mark of the last record, and the tag.
    static let plainBytesMax = bodyBytesMax - headerBytes - 1 - 16
    static let saltBytes = 16
    /// Messages are filled up to a multiple: their exact length says nothing.
    private static let stepBytes = 256
    /// Of the whole message as a record; a message is one.
    private static let recordBytes = UInt32(bodyBytesMax)

    var subscription: WebPushSubscription

    /// - Parameters:
    ///   - key: Of this message alone.
    ///   - salt: 16 random bytes.
    ///   - isPadded: Whether the message is filled up.
    /// - Throws: `MessageTooLong`; `CryptoKitError` for a key that is none, which a subscription that was read never has.
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
        let contentKey = Self.derive(secret, salt, "Content-Encoding: aes128gcm\u{0}", 16)
        let nonce = Self.derive(secret, salt, "Content-Encoding: nonce\u{0}", 12).withUnsafeBytes { Array($0) }
        // 2 marks the last record; zeros behind it are nothing.
        var plain = message + [2]
        if isPadded {
            let step = Self.stepBytes
            let filled = min((message.count + step - 1) / step * step, Self.plainBytesMax)
            plain += [UInt8](repeating: 0, count: max(filled - message.count, 0))
        }
        let box = try AES.GCM.seal(plain, using: contentKey, nonce: AES.GCM.Nonce(data: nonce))
        let size = (0..<4).map { UInt8(truncatingIfNeeded: Self.recordBytes >> (24 - 8 * UInt32($0))) }
        return salt + size + [UInt8(own.count)] + own + Array(box.ciphertext) + Array(box.tag)
    }

    private static func derive(_ secret: SymmetricKey, _ salt: [UInt8], _ info: String, _ count: Int) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: secret, salt: salt, info: Array(info.utf8), outputByteCount: count)
    }
}

/// A message that no push service takes.
struct MessageTooLong: Error, Hashable, Sendable {}
