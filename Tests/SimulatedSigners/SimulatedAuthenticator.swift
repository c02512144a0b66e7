import Crypto
import Foundation
import TextEncodings

/// An authenticator with one passkey, and the browser before it; its properties can be lies.
package struct SimulatedAuthenticator: Sendable {
    /// The key of the passkey.
    package var key: SigningKey
    /// The authenticator's identifier of the key.
    package var id: [UInt8] = Array(0..<20)
    /// The page that asks.
    package var origin: String
    /// The host to which the passkey is bound.
    package var party: String
    /// User present, user verified.
    package var flags: UInt8 = 0x05
    /// The number of uses.
    package var counter: UInt32 = 0
    /// What the browser names as the kind of its work; nil: the right one.
    package var type: String?
    /// Further members of the browser's data, with a comma before them.
    package var more = ""

    /// Creates an authenticator with a passkey for a host.
    package init(key: SigningKey, origin: String = "https://cloud.example.com", party: String = "cloud.example.com") {
        self.key = key
        self.origin = origin
        self.party = party
    }

    /// Returns what the browser saw.
    package func clientData(_ type: String, _ challenge: [UInt8]) -> [UInt8] {
        Array(
            #"{"type":"\#(self.type ?? type)","challenge":"\#(Base64URL.encode(challenge))","origin":"\#(origin)"\#(more)}"#
                .utf8)
    }

    private func data(made: [UInt8] = []) -> [UInt8] {
        let count = (0..<4).map { UInt8(truncatingIfNeeded: counter >> (24 - 8 * $0)) }
        return Array(SHA256.hash(data: Array(party.utf8))) + [flags | (made.isEmpty ? 0 : 0x40)] + count + made
    }

    /// Makes the passkey.
    ///
    /// - Returns: The browser's data and the attestation, which has none.
    package func register(_ challenge: [UInt8]) throws -> (clientData: [UInt8], attestation: [UInt8]) {
        let made = try [UInt8](repeating: 0, count: 16) + [0, UInt8(id.count)] + id + key.cose
        let bytes = data(made: made)
        let attestation: [UInt8] =
            [0xA3, 0x63] + Array("fmt".utf8) + [0x64] + Array("none".utf8) + [0x67] + Array("attStmt".utf8) + [
                0xA0, 0x68,
            ]
            + Array("authData".utf8) + [0x59, UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)] + bytes
        return (clientData("webauthn.create", challenge), attestation)
    }

    /// Uses the passkey.
    package func use(_ challenge: [UInt8]) throws -> (
        clientData: [UInt8], authenticatorData: [UInt8], signature: [UInt8]
    ) {
        let seen = clientData("webauthn.get", challenge)
        let bytes = data()
        return (seen, bytes, try key.sign(bytes + SHA256.hash(data: seen), der: true))
    }
}
