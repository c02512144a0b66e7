import Foundation
import SeededChance
import SimulatedSigners
import Testing
import TextEncodings
import WebCredentials

/// Tokens of a provider, true ones and every lie about them.
@Suite(.timeLimit(.minutes(20))) struct IDTokenTests {
    private static let seconds: Int64 = 1_700_000_000
    private static let issuer = "https://id.example.com/realms/work"
    private static let expected = IDToken.Expectation(
        issuer: issuer, clientID: "welkin", nonce: "n-1", now: seconds * 1000 + 250)

    private static func honest(_ kind: SigningKey.Kind = .es256, mark: UInt8 = 1) throws -> TokenIssuer {
        TokenIssuer(key: try .key(kind, mark: mark), issuer: issuer, client: "welkin", nonce: "n-1", seconds: seconds)
    }

    private static func keys(_ kind: SigningKey.Kind = .es256) throws -> JSONWebKeySet {
        try JSONWebKeySet(TokenIssuer.keySet([(.key(kind), "one"), (.key(kind, mark: 2), "two")]))
    }

    @Test(arguments: SigningKey.Kind.allCases)
    func `a token is verified with every algorithm`(_ kind: SigningKey.Kind) throws {
        var provider = try Self.honest(kind)
        provider.claims["email"] = #""Ada@example.com""#
        provider.claims["email_verified"] = "true"
        provider.claims["name"] = #""Ada Lovelace""#
        let token = try IDToken(provider.token(), keys: Self.keys(kind), expected: Self.expected)
        #expect(token.subject == "ada-at-work")
        #expect(token.issuer == Self.issuer)
        #expect(token.email == "Ada@example.com" && token.isEmailVerified && token.name == "Ada Lovelace")
        provider.keyID = nil
        #expect(try IDToken(provider.token(), keys: Self.keys(kind), expected: Self.expected).subject == "ada-at-work")
    }

    @Test(arguments: [("false", false), ("true", true), (#""true""#, true), (#""yes""#, false), ("1", false)])
    func `an address counts as verified only where the provider says so`(_ value: String, _ isVerified: Bool) throws {
        var provider = try Self.honest()
        provider.claims["email"] = #""ada@example.com""#
        #expect(try !IDToken(provider.token(), keys: Self.keys(), expected: Self.expected).isEmailVerified)
        provider.claims["email_verified"] = value
        #expect(
            try IDToken(provider.token(), keys: Self.keys(), expected: Self.expected).isEmailVerified == isVerified)
    }

    private static let lies:
        [(name: String, error: CredentialError, change: @Sendable (inout TokenIssuer) throws -> Void)] = [
            ("another issuer", .claim("iss"), { $0.claims["iss"] = #""https://evil.example.com""# }),
            ("an issuer with a slash more", .claim("iss"), { $0.claims["iss"] = "\"\(issuer)/\"" }),
            ("another audience", .claim("aud"), { $0.claims["aud"] = #""other""# }),
            ("two audiences and no party", .claim("azp"), { $0.claims["aud"] = #"["welkin","other"]"# }),
            ("another party", .claim("azp"), { $0.claims["azp"] = #""other""# }),
            ("a stale nonce", .claim("nonce"), { $0.claims["nonce"] = #""n-0""# }),
            ("no nonce", .claim("nonce"), { $0.claims["nonce"] = nil }),
            ("expired", .claim("exp"), { $0.claims["exp"] = "\(seconds - 61)" }),
            ("made long ago", .claim("iat"), { $0.claims["iat"] = "\(seconds - 601)" }),
            ("made in the future", .claim("iat"), { $0.claims["iat"] = "\(seconds + 62)" }),
            ("not valid yet", .claim("nbf"), { $0.claims["nbf"] = "\(seconds + 62)" }),
            ("no subject", .claim("sub"), { $0.claims["sub"] = #""""# }),
            (
                "a subject without end", .claim("sub"),
                { $0.claims["sub"] = "\"\(String(repeating: "a", count: 256))\"" }
            ),
            ("claims that are none", .malformed("no claims"), { $0.claims["exp"] = #""soon""# }),
            ("no signature", .algorithm, { $0.algorithm = "none" }),
            ("an algorithm in other letters", .algorithm, { $0.algorithm = "nOnE" }),
            ("another algorithm", .algorithm, { $0.algorithm = "PS256" }),
            ("the algorithm of another key", .unknownKey, { $0.algorithm = "RS256" }),
            ("what has to be understood", .algorithm, { $0.header = #","crit":["exp"]"# }),
            ("a key under the name of another", .signature, { $0.key = try .key(.es256, mark: 2) }),
            ("a key that nobody knows", .signature, { $0.key = try .key(.es256, mark: 3) }),
            ("the name of a key that nobody knows", .unknownKey, { $0.keyID = "three" }),
            (
                "a key within the token", .signature,
                {
                    $0.key = try .key(.es256, mark: 3)
                    let own = try JSONEncoder().encode(SigningKey.key(.es256, mark: 3).jwk(id: "one"))
                    $0.header = #","jwk":"# + String(decoding: own, as: UTF8.self)
                }
            ),
        ]

    @Test(arguments: lies.indices) func `a lie is noticed`(_ index: Int) throws {
        let lie = Self.lies[index]
        var provider = try Self.honest()
        try lie.change(&provider)
        #expect(throws: lie.error, "\(lie.name)") {
            try IDToken(provider.token(), keys: Self.keys(), expected: Self.expected)
        }
    }

    @Test func `two audiences are accepted where the party is this cloud`() throws {
        var provider = try Self.honest()
        provider.claims["aud"] = #"["other","welkin"]"#
        provider.claims["azp"] = #""welkin""#
        #expect(try IDToken(provider.token(), keys: Self.keys(), expected: Self.expected).subject == "ada-at-work")
    }

    @Test func `a public key is no secret of an HMAC`() throws {
        for kind in SigningKey.Kind.allCases {
            for algorithm in ["HS256", kind.rawValue] {
                var provider = try Self.honest(kind)
                provider.algorithm = algorithm
                let published = try JSONEncoder().encode(provider.key.jwk(id: "one"))
                #expect(throws: CredentialError.self) {
                    try IDToken(
                        provider.token(secret: Array(published)), keys: Self.keys(kind), expected: Self.expected)
                }
            }
        }
    }

    @Test func `every changed letter is noticed`() throws {
        let token = Array(try Self.honest(.eddsa).token().utf8)
        let keys = try Self.keys(.eddsa)
        var chance = SplitMix64(seed: 11)
        for _ in 0..<3_000 {
            var changed = token
            let position = Int.random(in: 0..<changed.count, using: &chance)
            changed[position] = UInt8.random(in: 33...126, using: &chance)
            let text = String(decoding: changed, as: UTF8.self)
            // The last letter of base 64 has bits that count for nothing.
            let isSame =
                text.split(separator: ".").map { Base64URL.decode(String($0)) }
                == String(decoding: token, as: UTF8.self).split(separator: ".").map { Base64URL.decode(String($0)) }
            if isSame { continue }
            #expect(throws: CredentialError.self) { try IDToken(text, keys: keys, expected: Self.expected) }
        }
    }

    @Test func `sets of keys are bounded, and unusable keys left out`() throws {
        #expect(throws: CredentialError.self) { try JSONWebKeySet(Array("[]".utf8)) }
        let huge = #"{"keys":[]"# + String(repeating: " ", count: JSONWebKeySet.bytesMax) + "}"
        #expect(throws: CredentialError.self) { try JSONWebKeySet(Array(huge.utf8)) }
        let many = #"{"keys":["# + Array(repeating: "{}", count: 101).joined(separator: ",") + "]}"
        #expect(throws: CredentialError.self) { try JSONWebKeySet(Array(many.utf8)) }
        let mixed = try TokenIssuer.keySet([(.key(.es256), "one")])
        let others =
            #"{"keys":[17,{"kty":"oct","k":"AAAA","alg":"HS256","kid":"one"},{"kty":"RSA","n":"AQAB","e":"AQAB","kid":"one"},"#
        let text = others + String(decoding: mixed, as: UTF8.self).dropFirst(#"{"keys":["#.count)
        let keys = try JSONWebKeySet(Array(text.utf8))
        #expect(try IDToken(Self.honest().token(), keys: keys, expected: Self.expected).subject == "ada-at-work")
        for use in [#""use":"enc""#, #""key_ops":["sign"]"#] {
            let other = String(decoding: mixed, as: UTF8.self).replacing(#""use":"sig""#, with: use)
            let encryption = try JSONWebKeySet(Array(other.utf8))
            #expect(throws: CredentialError.unknownKey) {
                try IDToken(Self.honest().token(), keys: encryption, expected: Self.expected)
            }
        }
        #expect(throws: CredentialError.malformed("too long")) {
            try IDToken(String(repeating: "a", count: IDToken.bytesMax + 1), keys: keys, expected: Self.expected)
        }
    }
}
