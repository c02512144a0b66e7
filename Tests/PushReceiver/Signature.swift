import Crypto
import Foundation

/// The content of `Authorization: vapid …` (RFC 8292), as a push service reads it.
package struct Signature: Hashable, Sendable {
    /// The signer's public key, in base64url.
    package var key: String
    package var audience: String
    /// Seconds since 1970.
    package var expires: Int64
    package var contact: String?

    private struct Header: Decodable {
        var alg: String
        var typ: String
    }

    private struct Claims: Decodable {
        var aud: String
        var exp: Int64
        var sub: String?
    }

    /// Parses the header and checks its signature.
    ///
    /// - Throws: `Unreadable` if the signature is not by the header's key.
    package init(_ header: String) throws {
        guard header.hasPrefix("vapid ") else { throw Unreadable(what: "scheme") }
        var values: [Substring: Substring] = [:]
        for pair in header.dropFirst(6).split(separator: ",") {
            let parts = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { values[parts[0]] = parts[1] }
        }
        let parts = (values["t"] ?? "").split(separator: ".").map(String.init)
        guard parts.count == 3, let key = values["k"] else { throw Unreadable(what: "token") }
        self.key = String(key)
        let publicKey = try P256.Signing.PublicKey(x963Representation: Base64.bytes(self.key))
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: Base64.bytes(parts[2]))
        guard publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)) else {
            throw Unreadable(what: "signature")
        }
        let head = try JSONDecoder().decode(Header.self, from: Data(Base64.bytes(parts[0])))
        guard head.alg == "ES256", head.typ == "JWT" else { throw Unreadable(what: "algorithm") }
        let claims = try JSONDecoder().decode(Claims.self, from: Data(Base64.bytes(parts[1])))
        (audience, expires, contact) = (claims.aud, claims.exp, claims.sub)
    }
}
