import Crypto
import Foundation

/// An account's public keys, bound together by its own signature.
///
/// The cloud distributes them, so it could send others: `IdentityPins` detects a later change, and users who compare
/// fingerprints detect it from the start (B-TM-08).
package struct PublicIdentity: Sendable {
    let signing: Curve25519.Signing.PublicKey
    let agreement: Curve25519.KeyAgreement.PublicKey
    private let signature: [UInt8]

    /// The length of an identity in bytes.
    package static let byteCount = 129

    init(
        signing: Curve25519.Signing.PublicKey, agreement: Curve25519.KeyAgreement.PublicKey, signature: [UInt8]
    ) {
        self.signing = signing
        self.agreement = agreement
        self.signature = signature
    }

    /// Reads and verifies: version 1, signing key (Ed25519, 32), agreement key (X25519, 32), signature (64).
    /// - Throws: `badSignature` if the keys were not bound together by who holds the signing key.
    package init(bytes: [UInt8]) throws(EncryptionError) {
        var reader = ByteReader(bytes, of: .identity)
        try reader.takeVersion()
        let signing = try reader.take(32)
        let agreement = try reader.take(32)
        signature = Array(try reader.take(64))
        try reader.finish()
        do {
            self.signing = try Curve25519.Signing.PublicKey(rawRepresentation: signing)
            self.agreement = try Curve25519.KeyAgreement.PublicKey(rawRepresentation: agreement)
        } catch {
            throw .malformed(.identity, reason: "these are no keys")
        }
        let message = Self.message(signing: signing, agreement: agreement)
        guard self.signing.isValidSignature(signature, for: message) else { throw .badSignature(.identity) }
    }

    /// The encoded form: keys and signature.
    package var bytes: [UInt8] {
        [1] + keyBytes + signature
    }

    /// The fingerprint that users compare, by telephone or side by side.
    package var fingerprint: Fingerprint { Fingerprint(of: keys("welkin fingerprint 1")) }

    /// Signing and agreement key: 64 bytes.
    var keyBytes: [UInt8] { Array(signing.rawRepresentation + agreement.rawRepresentation) }

    private func keys(_ purpose: String) -> [UInt8] {
        Self.keys(purpose, signing: signing.rawRepresentation, agreement: agreement.rawRepresentation)
    }

    static func message(signing: some Sequence<UInt8>, agreement: some Sequence<UInt8>) -> [UInt8] {
        keys("welkin identity 1", signing: signing, agreement: agreement)
    }

    private static func keys(
        _ purpose: String, signing: some Sequence<UInt8>, agreement: some Sequence<UInt8>
    ) -> [UInt8] {
        var frame = Frame(purpose)
        frame.append(Array(signing))
        frame.append(Array(agreement))
        return frame.bytes
    }
}

extension PublicIdentity: Hashable {
    /// The keys decide; the signature is one of many possible.
    package static func == (one: Self, other: Self) -> Bool { one.fingerprint == other.fingerprint }
    /// Hashes the contents into the given hasher.
    package func hash(into hasher: inout Hasher) { hasher.combine(fingerprint) }
}
