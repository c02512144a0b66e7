import Crypto

/// The SHA-256 of a public identity's keys.
package struct Fingerprint: Hashable, Sendable {
    /// 64 hexadecimal digits, for files.
    package let hex: String

    init(of bytes: [UInt8]) {
        hex = SHA256.hash(data: bytes).map { byte in
            let digits = String(byte, radix: 16)
            return byte < 16 ? "0" + digits : digits
        }.joined()
    }
}

extension Fingerprint: CustomStringConvertible {
    /// What people compare: the first 128 bits, in eight groups of four digits.
    package var description: String {
        let digits = Array(hex.prefix(32))
        return stride(from: 0, to: digits.count, by: 4).map { String(digits[$0..<$0 + 4]) }.joined(separator: " ")
    }
}

extension Fingerprint: Codable {
    package init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard text.utf8.count == 64, text.allSatisfy({ $0.isHexDigit && !$0.isUppercase }) else {
            throw EncryptionError.malformed(.identityPins, reason: "a fingerprint has 64 hexadecimal digits")
        }
        hex = text
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(hex)
    }
}
