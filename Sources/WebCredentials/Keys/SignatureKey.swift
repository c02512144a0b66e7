import Crypto
import CryptoExtras
import Foundation
import TextEncodings

/// A public key of an authenticator or an issuer, for the one algorithm that its owner named: a signature never chooses it.
package enum SignatureKey: Sendable {
    /// ECDSA on P-256 with SHA-256.
    case es256(P256.Signing.PublicKey)
    /// Ed25519.
    case eddsa(Curve25519.Signing.PublicKey)
    /// RSA of 2,048 to 8,192 bits, PKCS #1 v1.5, with SHA-256.
    case rs256(_RSA.Signing.PublicKey)

    /// The form of a signature on P-256.
    package enum Form: Sendable {
        /// ASN.1, as authenticators make it.
        case der
        /// Two numbers of 32 bytes, as in tokens.
        case raw
    }

    /// The algorithm's name in tokens.
    package var name: String {
        switch self {
        case .es256: "ES256"
        case .eddsa: "EdDSA"
        case .rs256: "RS256"
        }
    }

    /// Checks a signature.
    ///
    /// - Parameters:
    ///   - signature: The signature.
    ///   - message: What is signed.
    ///   - form: The form of a signature on P-256.
    /// - Throws: `CredentialError.signature`.
    package func check(_ signature: [UInt8], of message: [UInt8], form: Form) throws(CredentialError) {
        let isValid: Bool
        switch self {
        case .es256(let key):
            let read =
                form == .der
                ? try? P256.Signing.ECDSASignature(derRepresentation: signature)
                : try? P256.Signing.ECDSASignature(rawRepresentation: signature)
            isValid = read.map { key.isValidSignature($0, for: message) } ?? false
        case .eddsa(let key): isValid = key.isValidSignature(signature, for: message)
        case .rs256(let key):
            isValid = key.isValidSignature(
                _RSA.Signing.RSASignature(rawRepresentation: signature), for: message, padding: .insecurePKCS1v1_5)
        }
        guard isValid else { throw .signature }
    }

    private static let modulusBytes = 256...1024

    private static func rsa(modulus: [UInt8], exponent: [UInt8]) throws(CredentialError) -> SignatureKey {
        let modulus = Array(modulus.drop { $0 == 0 })
        guard modulusBytes.contains(modulus.count), (1...4).contains(exponent.count),
            let key = try? _RSA.Signing.PublicKey(n: modulus, e: exponent)
        else { throw .malformed("no key of RSA") }
        return .rs256(key)
    }

    private static func p256(_ x: [UInt8], _ y: [UInt8]) throws(CredentialError) -> SignatureKey {
        guard x.count == 32, y.count == 32,
            let key = try? P256.Signing.PublicKey(rawRepresentation: x + y)
        else { throw .malformed("no point of P-256") }
        return .es256(key)
    }

    private static func ed25519(_ x: [UInt8]) throws(CredentialError) -> SignatureKey {
        guard let key = try? Curve25519.Signing.PublicKey(rawRepresentation: x) else {
            throw .malformed("no key of Ed25519")
        }
        return .eddsa(key)
    }

    /// Reads a key of an authenticator (RFC 9053).
    ///
    /// - Throws: `CredentialError.algorithm` for another one than ES256 (−7), EdDSA (−8) and RS256 (−257); `malformed`.
    package init(cose value: CBORValue) throws(CredentialError) {
        switch (value[1]?.integer, value[3]?.integer) {
        case (2, -7):
            guard value[-1]?.integer == 1, let x = value[-2]?.byteString, let y = value[-3]?.byteString else {
                throw .malformed("no key of P-256")
            }
            self = try Self.p256(x, y)
        case (1, -8):
            guard value[-1]?.integer == 6, let x = value[-2]?.byteString else { throw .malformed("no key of Ed25519") }
            self = try Self.ed25519(x)
        case (3, -257):
            guard let modulus = value[-1]?.byteString, let exponent = value[-2]?.byteString else {
                throw .malformed("no key of RSA")
            }
            self = try Self.rsa(modulus: modulus, exponent: exponent)
        default: throw .algorithm
        }
    }

    /// Reads a key of an issuer (RFC 7517).
    ///
    /// - Throws: `CredentialError.algorithm` for a key for anything but ES256, EdDSA and RS256 signatures; `malformed`.
    init(_ key: JSONWebKey) throws(CredentialError) {
        guard key.use ?? "sig" == "sig", key.operations?.contains("verify") ?? true else { throw .algorithm }
        func bytes(_ text: String?) throws(CredentialError) -> [UInt8] {
            guard let bytes = text.flatMap({ Base64URL.decode($0) }) else { throw .malformed("a key lacks a part") }
            return bytes
        }
        switch (key.kty, key.crv, key.alg) {
        case ("EC", "P-256", nil), ("EC", "P-256", "ES256"): self = try Self.p256(bytes(key.x), bytes(key.y))
        case ("OKP", "Ed25519", nil), ("OKP", "Ed25519", "EdDSA"), ("OKP", "Ed25519", "Ed25519"):
            self = try Self.ed25519(bytes(key.x))
        case ("RSA", nil, nil), ("RSA", nil, "RS256"):
            self = try Self.rsa(modulus: bytes(key.n), exponent: bytes(key.e))
        default: throw .algorithm
        }
    }
}

/// A key of a set, as it is written.
struct JSONWebKey: Decodable {
    var kty: String
    var use: String?
    var operations: [String]?
    var alg: String?
    var kid: String?
    var crv: String?
    var x: String?
    var y: String?
    var n: String?
    var e: String?

    private enum CodingKeys: String, CodingKey {
        case kty, use, alg, kid, crv, x, y, n, e
        case operations = "key_ops"
    }
}
