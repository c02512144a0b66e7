import Crypto
import CryptoExtras
import Foundation
import TextEncodings

/// A private key of an authenticator or a provider, the same in every run except for RSA.
package enum SigningKey: Sendable {
    case es256(P256.Signing.PrivateKey)
    case eddsa(Curve25519.Signing.PrivateKey)
    case rs256(_RSA.Signing.PrivateKey)

    /// The kinds of keys.
    package enum Kind: String, CaseIterable, Sendable {
        case es256 = "ES256"
        case eddsa = "EdDSA"
        case rs256 = "RS256"
    }

    private static let rsa = Result {
        try (_RSA.Signing.PrivateKey(keySize: .bits2048), _RSA.Signing.PrivateKey(keySize: .bits2048))
    }

    /// Returns a key; another one for another mark.
    package static func key(_ kind: Kind, mark: UInt8 = 1) throws -> SigningKey {
        let seed = [UInt8](repeating: mark, count: 32)
        switch kind {
        case .es256: return .es256(try P256.Signing.PrivateKey(rawRepresentation: seed))
        case .eddsa: return .eddsa(try Curve25519.Signing.PrivateKey(rawRepresentation: seed))
        case .rs256: return .rs256(try mark == 1 ? rsa.get().0 : rsa.get().1)
        }
    }

    /// Returns a signature; on P-256 as two numbers, or as ASN.1.
    package func sign(_ message: [UInt8], der: Bool) throws -> [UInt8] {
        switch self {
        case .es256(let key):
            let signature = try key.signature(for: message)
            return Array(der ? signature.derRepresentation : signature.rawRepresentation)
        case .eddsa(let key): return Array(try key.signature(for: message))
        case .rs256(let key):
            return Array(try key.signature(for: message, padding: .insecurePKCS1v1_5).rawRepresentation)
        }
    }

    /// The public key as an authenticator encodes it.
    package var cose: [UInt8] {
        get throws {
            switch self {
            case .es256(let key):
                let point = Array(key.publicKey.rawRepresentation)
                return [0xA5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 32] + point.prefix(32)
                    + [0x22, 0x58, 32] + point.suffix(32)
            case .eddsa(let key):
                return [0xA4, 0x01, 0x01, 0x03, 0x27, 0x20, 0x06, 0x21, 0x58, 32]
                    + key.publicKey.rawRepresentation
            case .rs256(let key):
                let primitives = try key.publicKey.getKeyPrimitives()
                return [0xA4, 0x01, 0x03, 0x03, 0x39, 0x01, 0x00, 0x20, 0x59, 0x01, 0x00]
                    + primitives.modulus + [0x21, 0x43] + primitives.publicExponent
            }
        }
    }

    /// The public key as a provider publishes it.
    package func jwk(id: String?) throws -> [String: String] {
        var key: [String: String] = ["use": "sig"]
        key["kid"] = id
        switch self {
        case .es256(let own):
            let point = Array(own.publicKey.rawRepresentation)
            key.merge([
                "kty": "EC", "crv": "P-256", "alg": "ES256", "x": Base64URL.encode(Array(point.prefix(32))),
                "y": Base64URL.encode(Array(point.suffix(32))),
            ]) { $1 }
        case .eddsa(let own):
            key.merge([
                "kty": "OKP", "crv": "Ed25519", "x": Base64URL.encode(Array(own.publicKey.rawRepresentation)),
            ]) { $1 }
        case .rs256(let own):
            let primitives = try own.publicKey.getKeyPrimitives()
            key.merge([
                "kty": "RSA", "alg": "RS256", "n": Base64URL.encode(Array(primitives.modulus)),
                "e": Base64URL.encode(Array(primitives.publicExponent)),
            ]) { $1 }
        }
        return key
    }
}
