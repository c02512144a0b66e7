import Crypto
import Foundation
import TextEncodings

/// The statement of a provider about a person who signed in there (OpenID Connect Core 1.0, §2), verified.
package struct IDToken: Hashable, Sendable {
    /// The provider.
    package var issuer: String
    /// The provider's name of the person, which never changes and is never given to another.
    package var subject: String
    /// The address that the provider has of the person.
    package var email: String?
    /// Whether the provider has verified the address.
    package var isEmailVerified: Bool
    /// The name of the person.
    package var name: String?

    /// The longest token that is read.
    package static let bytesMax = 32 * 1024
    private static let subjectBytesMax = 255
    /// Seconds by which clocks may differ.
    private static let tolerance = 60.0
    /// Seconds for which a token may be under way.
    private static let ageMax = 600.0

    /// The expectations of a sign-in.
    package struct Expectation: Sendable {
        /// The provider, as it was configured.
        package var issuer: String
        /// The cloud's name at the provider.
        package var clientID: String
        /// The value that this sign-in alone sent.
        package var nonce: String
        /// Milliseconds since 1970.
        package var now: Int64

        /// Creates the expectations of a sign-in at a time, in milliseconds since 1970.
        package init(issuer: String, clientID: String, nonce: String, now: Int64) {
            self.issuer = issuer
            self.clientID = clientID
            self.nonce = nonce
            self.now = now
        }
    }

    /// Creates the statement that a provider has made of a person; whoever does so vouches for it.
    package init(issuer: String, subject: String, email: String?, isEmailVerified: Bool, name: String?) {
        self.issuer = issuer
        self.subject = subject
        self.email = email
        self.isEmailVerified = isEmailVerified
        self.name = name
    }

    /// Verifies a token.
    ///
    /// The algorithm has to be one that is accepted and that of a key of the issuer: neither `none` nor an HMAC with a public key as its
    /// secret is possible.
    ///
    /// - Parameters:
    ///   - text: The token.
    ///   - keys: Of the issuer.
    ///   - expected: The expectations of the sign-in.
    /// - Throws: `CredentialError`; `unknownKey` when the issuer may have made a new key.
    package init(_ text: String, keys: JSONWebKeySet, expected: Expectation) throws(CredentialError) {
        guard text.utf8.count <= Self.bytesMax else { throw .malformed("too long") }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let head = Base64URL.decode(String(parts[0])),
            let body = Base64URL.decode(String(parts[1])), let signature = Base64URL.decode(String(parts[2])),
            let header = try? JSONDecoder().decode(Header.self, from: Data(head))
        else { throw .malformed("no token") }
        guard ["RS256", "ES256", "EdDSA"].contains(header.alg), header.crit == nil else { throw .algorithm }
        let message = Array("\(parts[0]).\(parts[1])".utf8)
        let isSigned = try keys.keys(for: header.alg, id: header.kid).contains {
            (try? $0.check(signature, of: message, form: .raw)) != nil
        }
        guard isSigned else { throw .signature }
        guard let claims = try? JSONDecoder().decode(Claims.self, from: Data(body)) else {
            throw .malformed("no claims")
        }
        try claims.check(expected)
        issuer = claims.iss
        subject = claims.sub
        email = claims.email
        isEmailVerified = claims.emailVerified?.isTrue ?? false
        name = claims.name
    }

    private struct Header: Decodable {
        var alg: String
        var kid: String?
        var crit: [String]?
    }

    private struct Claims: Decodable {
        var iss: String
        var sub: String
        var aud: Audience
        var azp: String?
        var exp: Double
        var iat: Double
        var nbf: Double?
        var nonce: String?
        var email: String?
        var emailVerified: Flag?
        var name: String?

        private enum CodingKeys: String, CodingKey {
            case iss, sub, aud, azp, exp, iat, nbf, nonce, email, name
            case emailVerified = "email_verified"
        }

        func check(_ expected: Expectation) throws(CredentialError) {
            guard iss == expected.issuer else { throw .claim("iss") }
            guard (1...IDToken.subjectBytesMax).contains(sub.utf8.count) else { throw .claim("sub") }
            guard aud.names.contains(expected.clientID) else { throw .claim("aud") }
            guard azp == nil ? aud.names.count == 1 : azp == expected.clientID else { throw .claim("azp") }
            let now = Double(expected.now) / 1000
            guard now < exp + IDToken.tolerance else { throw .claim("exp") }
            guard iat <= now + IDToken.tolerance, now - iat <= IDToken.ageMax else { throw .claim("iat") }
            guard nbf ?? 0 <= now + IDToken.tolerance else { throw .claim("nbf") }
            // Hashes have one length, so that the comparison shows nothing.
            guard let nonce, SHA256.hash(data: Array(nonce.utf8)) == SHA256.hash(data: Array(expected.nonce.utf8))
            else { throw .claim("nonce") }
        }
    }

    private struct Audience: Decodable {
        var names: [String]

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            names = try (try? [container.decode(String.self)]) ?? container.decode([String].self)
        }
    }

    /// A Boolean value, which some providers write as text.
    private struct Flag: Decodable {
        var isTrue: Bool

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            isTrue = (try? container.decode(Bool.self)) ?? ((try? container.decode(String.self)) == "true")
        }
    }
}
