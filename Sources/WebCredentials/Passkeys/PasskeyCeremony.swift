import Crypto
import Foundation
import TextEncodings

/// A public key of an authenticator, as it is kept.
package struct PasskeyKey: Hashable, Sendable {
    /// The authenticator's identifier of the key.
    package var id: [UInt8]
    /// COSE.
    package var publicKey: [UInt8]
    /// The number of uses that the authenticator has counted; 0: it counts none.
    package var counter: UInt32
    /// Whether the key is kept by a service that copies it to other devices.
    package var isBackedUp: Bool

    /// Creates a key as it was kept.
    package init(id: [UInt8], publicKey: [UInt8], counter: UInt32, isBackedUp: Bool) {
        self.id = id
        self.publicKey = publicKey
        self.counter = counter
        self.isBackedUp = isBackedUp
    }
}

/// What a browser reports of a passkey that was made or used: bytes that an authenticator signed, and what the browser saw.
package struct PasskeyCeremony: Hashable, Sendable {
    /// JSON that the browser wrote: type, challenge, origin.
    package var clientData: [UInt8]
    /// The party to which the passkey belongs.
    package var party: RelyingParty

    /// The longest JSON of a browser.
    package static let clientDataBytesMax = 4096
    /// The longest data of an authenticator.
    package static let authenticatorBytesMax = 8192

    /// Creates a ceremony; nothing is checked yet.
    package init(clientData: [UInt8], party: RelyingParty) {
        self.clientData = clientData
        self.party = party
    }

    /// The challenge that the browser names; it is not checked yet.
    ///
    /// - Throws: `CredentialError.malformed`.
    package var challenge: [UInt8] {
        get throws(CredentialError) {
            guard let challenge = Base64URL.decode(try seen().challenge) else { throw .malformed("no challenge") }
            return challenge
        }
    }

    /// Returns the key that an authenticator has made. Its attestation is not looked at: every authenticator is good enough.
    ///
    /// - Parameter attestation: CBOR with the authenticator's data.
    /// - Throws: `CredentialError`.
    package func registered(attestation: [UInt8]) throws(CredentialError) -> PasskeyKey {
        try check(type: "webauthn.create")
        guard attestation.count <= Self.authenticatorBytesMax,
            let bytes = try CBORValue(attestation)[.text("authData")]?.byteString
        else { throw .malformed("no data of an authenticator") }
        let data = try AuthenticatorData(bytes, party: party)
        guard let made = data.made else { throw .malformed("no key") }
        _ = try SignatureKey(cose: made.key)
        return PasskeyKey(id: made.id, publicKey: made.keyBytes, counter: data.counter, isBackedUp: data.isBackedUp)
    }

    /// Checks that an authenticator has signed with a key, and returns the key as it is to be kept from now on.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - authenticatorData: As the authenticator signed it.
    ///   - signature: The signature.
    /// - Throws: `CredentialError`; `claim` with `counter` for one that does not grow, as that of a copied authenticator.
    package func asserted(
        by key: PasskeyKey, authenticatorData: [UInt8], signature: [UInt8]
    ) throws(CredentialError) -> PasskeyKey {
        try check(type: "webauthn.get")
        guard authenticatorData.count <= Self.authenticatorBytesMax, signature.count <= Self.authenticatorBytesMax
        else {
            throw .malformed("too long")
        }
        let data = try AuthenticatorData(authenticatorData, party: party)
        let message = authenticatorData + SHA256.hash(data: clientData)
        try SignatureKey(cose: try CBORValue(key.publicKey)).check(signature, of: message, form: .der)
        guard data.counter > key.counter || (data.counter == 0 && key.counter == 0) else { throw .claim("counter") }
        var used = key
        used.counter = data.counter
        used.isBackedUp = data.isBackedUp
        return used
    }

    private struct Seen: Decodable {
        var type: String
        var challenge: String
        var origin: String
        var crossOrigin: Bool?
        var topOrigin: String?
    }

    private func seen() throws(CredentialError) -> Seen {
        guard clientData.count <= Self.clientDataBytesMax,
            let seen = try? JSONDecoder().decode(Seen.self, from: Data(clientData))
        else { throw .malformed("no data of a browser") }
        return seen
    }

    private func check(type: String) throws(CredentialError) {
        let seen = try seen()
        guard seen.type == type else { throw .claim("type") }
        guard seen.origin == party.origin, seen.crossOrigin != true, seen.topOrigin == nil else {
            throw .claim("origin")
        }
    }
}
