import Crypto
import Foundation

/// The browser's side of Web Push, implemented from the RFCs independently of the cloud's side: decrypts messages.
package struct Browser: Sendable {
    package let key: P256.KeyAgreement.PrivateKey
    /// 16 bytes.
    package let authentication: [UInt8]

    package init() {
        key = P256.KeyAgreement.PrivateKey()
        authentication = (0..<16).map { _ in .random(in: 0...255) }
    }

    /// Creates a browser from its secrets, in base64url.
    package init(privateKey: String, authentication: String) throws {
        key = try P256.KeyAgreement.PrivateKey(rawRepresentation: Base64.bytes(privateKey))
        self.authentication = try Base64.bytes(authentication)
    }

    /// Returns the JSON of `PushSubscription.toJSON()`.
    package func subscription(endpoint: String) -> String {
        let publicKey = Base64.text(Array(key.publicKey.x963Representation))
        return
            #"{"endpoint":"\#(endpoint)","expirationTime":null,"keys":{"p256dh":"\#(publicKey)","auth":"\#(Base64.text(authentication))"}}"#
    }

    /// Decrypts a message of one record (RFC 8188 §2, RFC 8291 §3).
    package func open(_ body: [UInt8]) throws -> [UInt8] {
        guard body.count > 21 else { throw Unreadable(what: "header") }
        let salt = Array(body[..<16])
        let size = body[16..<20].reduce(0) { $0 << 8 | Int($1) }
        let sender = Array(body[21...].prefix(Int(body[20])))
        let sealed = Array(body[(21 + sender.count)...])
        guard sender.count == 65, sealed.count > 16, sealed.count <= size else { throw Unreadable(what: "record") }
        let shared = try key.sharedSecretFromKeyAgreement(with: .init(x963Representation: sender))
        let secret = shared.withUnsafeBytes { Array($0) }
        let info = Array("WebPush: info\u{0}".utf8) + Array(key.publicKey.x963Representation) + sender
        let material = Self.expand(Self.code(authentication, secret), info: info, bytes: 32)
        let root = Self.code(salt, material)
        let contentKey = Self.expand(root, info: Array("Content-Encoding: aes128gcm\u{0}".utf8), bytes: 16)
        let nonce = Self.expand(root, info: Array("Content-Encoding: nonce\u{0}".utf8), bytes: 12)
        let plain = try AES.GCM.open(
            .init(nonce: .init(data: nonce), ciphertext: sealed.dropLast(16), tag: sealed.suffix(16)),
            using: SymmetricKey(data: contentKey))
        guard let mark = plain.lastIndex(where: { $0 != 0 }), plain[mark] == 2 else {
            throw Unreadable(what: "padding")
        }
        return Array(plain[..<mark])
    }

    /// Returns an HMAC, the step of HKDF in RFC 8291 §3.4.
    private static func code(_ key: [UInt8], _ bytes: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: bytes, using: SymmetricKey(data: key)))
    }

    private static func expand(_ root: [UInt8], info: [UInt8], bytes count: Int) -> [UInt8] {
        Array(code(root, info + [1]).prefix(count))
    }
}

/// The error of a message that a browser would reject.
package struct Unreadable: Error, Hashable, Sendable {
    package var what: String
}

/// Base64url without padding.
package enum Base64 {
    package static func text(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    package static func bytes(_ text: String) throws -> [UInt8] {
        let plain = text.replacing("-", with: "+").replacing("_", with: "/")
        let padded = plain + String(repeating: "=", count: (4 - plain.count % 4) % 4)
        guard let data = Data(base64Encoded: padded) else { throw Unreadable(what: "base 64") }
        return Array(data)
    }
}
