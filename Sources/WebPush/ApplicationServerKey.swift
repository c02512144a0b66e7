import CloudKitAccounts
import Crypto
import Foundation
import TextEncodings

/// The key that identifies this cloud to push services (VAPID, RFC 8292). Subscriptions are bound to its public half: with another
/// key all browsers have to subscribe again.
package struct ApplicationServerKey: Sendable {
    private let key: P256.Signing.PrivateKey

    /// Creates a new key.
    package init() { key = P256.Signing.PrivateKey() }

    /// Creates the key of all nodes that have the same secret.
    ///
    /// - Parameter secret: The cloud's.
    package init(secret: [UInt8]) {
        for counter in UInt8.min ... .max {
            let code = HMAC<SHA256>.authenticationCode(
                for: Array("welkin web push key 1".utf8) + [counter], using: SymmetricKey(data: secret))
            // One of 2^32 values is no key.
            if let key = try? P256.Signing.PrivateKey(rawRepresentation: Data(code)) {
                self.key = key
                return
            }
        }
        key = P256.Signing.PrivateKey()
    }

    /// Reads a key in PEM form.
    ///
    /// - Throws: `ApplicationServerKeyError`.
    package init(pem: String) throws(ApplicationServerKeyError) {
        guard let key = try? P256.Signing.PrivateKey(pemRepresentation: pem) else { throw ApplicationServerKeyError() }
        self.key = key
    }

    /// The private key in PEM form; a secret.
    package var pem: String { key.pemRepresentation + "\n" }

    /// The `applicationServerKey` for browsers: the uncompressed point in base64url.
    package var publicText: String { Base64URL.encode(Array(key.publicKey.x963Representation)) }

    /// The lifetime of a token in seconds; RFC 8292 allows twice as much.
    static let tokenLifetime: Int64 = 12 * 3600

    private struct Header: Encodable {
        var typ = "JWT"
        var alg = "ES256"
    }

    private struct Claims: Encodable {
        var aud: String
        var exp: Int64
        var sub: String?
    }

    /// Returns the `Authorization` header of a message.
    ///
    /// - Parameters:
    ///   - origin: The origin of the push service.
    ///   - contact: The contact of this cloud's operator, `mailto:` or `https:`.
    ///   - now: Milliseconds since 1970.
    func authorization(for origin: String, contact: String?, now: Int64) throws -> String {
        let claims = Claims(aud: origin, exp: now / 1000 + Self.tokenLifetime, sub: contact)
        let signed = try Self.part(Header()) + "." + Self.part(claims)
        let signature = try key.signature(for: Data(signed.utf8)).rawRepresentation
        return "vapid t=\(signed).\(Base64URL.encode(Array(signature))), k=\(publicText)"
    }

    private static func part(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        return Base64URL.encode(Array(try encoder.encode(value)))
    }
}

/// The error of a text that is not a private P-256 key.
package struct ApplicationServerKeyError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The sentence for the operator.
    package var description: String { "This is not a private P-256 key in PEM form." }
}
