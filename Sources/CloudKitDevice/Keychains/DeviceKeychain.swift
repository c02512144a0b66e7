import CloudKitEncryption
import Crypto
import Foundation
import TextEncodings

/// The account's secret as a signed-in device keeps it.
package struct DeviceKeychain: Equatable, Sendable {
    /// The account's address, normalised.
    package var account: String
    /// Counts the account's keychains; another one means other keys.
    package var generation: Int
    /// The account's secret.
    package var secret: AccountSecret

    /// Creates a value with the given properties.
    package init(account: String, generation: Int, secret: AccountSecret) {
        self.account = account
        self.generation = generation
        self.secret = secret
    }

    /// The fingerprint by which users recognize the account's keys; it is not secret.
    package var fingerprint: String {
        get throws { try secret.identity().publicIdentity.fingerprint.description }
    }
}

extension DeviceKeychain {
    /// The contents of the file: JSON with a version and a checksum, so that damage shows as such and never as keys that open
    /// nothing.
    private struct File: Codable {
        var version: Int
        var account: String
        var generation: Int
        /// Base 64; the checksum covers the text.
        var secret: String
        /// SHA-256 of the rest, in hexadecimal.
        var checksum: String

        var sum: String {
            let text = "welkin keychain file \(version)\n\(account)\n\(generation)\n\(secret)"
            return SHA256.hash(data: Data(text.utf8)).map { byte in
                (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }.joined()
        }
    }

    private static let version = 1

    /// The bytes of the file.
    func encoded() throws -> [UInt8] {
        var file = File(
            version: Self.version, account: account, generation: generation,
            secret: Base64.encode(secret.bytes), checksum: "")
        file.checksum = file.sum
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(file))
    }

    /// - Throws: `KeychainFileError`.
    init(file bytes: [UInt8]) throws(KeychainFileError) {
        struct Versioned: Decodable {
            var version: Int
        }
        let data = Data(bytes)
        guard let version = try? JSONDecoder().decode(Versioned.self, from: data).version else { throw .damaged }
        guard version == Self.version else { throw .unknownVersion(version) }
        guard let file = try? JSONDecoder().decode(File.self, from: data), file.checksum == file.sum,
            let bytes = Base64.decode(file.secret), let secret = try? AccountSecret(bytes: bytes)
        else { throw .damaged }
        self.init(account: file.account, generation: file.generation, secret: secret)
    }
}

/// The reason why a keychain's file cannot be used. It is replaced only by signing in.
package enum KeychainFileError: Error, Hashable, Sendable, CustomStringConvertible {
    case damaged
    case unknownVersion(Int)

    /// A textual form of the value, for logs and debugging.
    package var description: String {
        switch self {
        case .damaged: "the keychain is damaged: its checksum does not fit"
        case .unknownVersion(let version): "the keychain has version \(version), which this program does not know"
        }
    }
}
