import CloudKitAccounts
import Crypto
import Foundation
import TextEncodings

/// The key by which push services know this cloud (VAPID, RFC 8292). Subscriptions are made for its public half: with another key
/// all browsers have to subscribe anew.
package struct ApplicationServerKey: Sendable {
    private let key: P256.Signing.PrivateKey

    /// A fresh key.
    package init() { key = P256.Signing.PrivateKey() }

    /// - Throws: `ApplicationServerKeyError`.
    package init(pem: String) throws(ApplicationServerKeyError) {
        guard let key = try? P256.Signing.PrivateKey(pemRepresentation: pem) else { throw ApplicationServerKeyError() }
        self.key = key
    }

    /// The key as it is kept; a secret.
    package var pem: String { key.pemRepresentation + "\n" }

    /// What a browser takes as `applicationServerKey`: the uncompressed point in base 64 for URLs.
    package var publicText: String { Base64URL.encode(Array(key.publicKey.x963Representation)) }

    /// Seconds for which a token is good; RFC 8292 allows twice as much.
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

    /// The header `Authorization` of a message.
    ///
    /// - Parameters:
    ///   - origin: Of the push service.
    ///   - contact: How its operator reaches this cloud's: `mailto:` or `https:`.
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

/// A text that is no key of the right kind.
package struct ApplicationServerKeyError: Error, Hashable, Sendable, CustomStringConvertible {
    package var description: String { "This is not a private P-256 key in PEM form." }
}
