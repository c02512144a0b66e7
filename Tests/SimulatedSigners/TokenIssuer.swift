import Crypto
import Foundation
import TextEncodings

/// A provider that signs tokens about people; each part of a token can be a lie.
package struct TokenIssuer: Sendable {
    /// The key that signs.
    package var key: SigningKey
    /// The algorithm that a token names; nil: the key's.
    package var algorithm: String?
    /// The name of the key in tokens; nil: none.
    package var keyID: String? = "one"
    /// Further members of the header, with a comma before them.
    package var header = ""
    /// The claims. Values are JSON.
    package var claims: [String: String]

    /// Creates a provider that tells the truth about a person.
    package init(
        key: SigningKey, issuer: String, client: String, nonce: String, seconds: Int64, subject: String = "ada-at-work"
    ) {
        self.key = key
        claims = [
            "iss": "\"\(issuer)\"", "aud": "\"\(client)\"", "nonce": "\"\(nonce)\"", "sub": "\"\(subject)\"",
            "iat": "\(seconds)", "exp": "\(seconds + 300)",
        ]
    }

    /// The names of the algorithm.
    private var name: String {
        algorithm
            ?? {
                switch key {
                case .es256: "ES256"
                case .eddsa: "EdDSA"
                case .rs256: "RS256"
                }
            }()
    }

    /// Returns a token.
    ///
    /// - Parameter secret: Signs with HMAC and this secret; nil: with the key.
    package func token(secret: [UInt8]? = nil) throws -> String {
        let id = keyID.map { #","kid":"\#($0)""# } ?? ""
        let head = #"{"alg":"\#(name)","typ":"JWT"\#(id)\#(header)}"#
        let body =
            "{" + claims.sorted { $0.key < $1.key }.map { #""\#($0.key)":\#($0.value)"# }.joined(separator: ",") + "}"
        let message = [head, body].map { Base64URL.encode(Array($0.utf8)) }.joined(separator: ".")
        let signature: [UInt8]
        if let secret {
            signature = Array(
                HMAC<SHA256>.authenticationCode(for: Array(message.utf8), using: SymmetricKey(data: secret)))
        } else if name == "none" {
            signature = []
        } else {
            signature = try key.sign(Array(message.utf8), der: false)
        }
        return message + "." + Base64URL.encode(signature)
    }

    /// Returns the set of keys that a provider publishes.
    package static func keySet(_ keys: [(key: SigningKey, id: String?)]) throws -> [UInt8] {
        Array(try JSONEncoder().encode(["keys": try keys.map { try $0.key.jwk(id: $0.id) }]))
    }
}
