import Crypto

/// The SHA-256 of a public identity's keys.
package struct Fingerprint: Hashable, Sendable {
    /// 64 hexadecimal digits, for files.
    package let hex: String

    init(of bytes: [UInt8]) { self.init(hash: SHA256.hash(data: bytes)) }

    /// - Parameter hash: 32 bytes.
    init(hash: some Sequence<UInt8>) {
        hex = hash.map { byte in
            let digits = String(byte, radix: 16)
            return byte < 16 ? "0" + digits : digits
        }.joined()
    }

    /// The 32 bytes of the hash.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        var high: UInt8?
        for digit in hex.compactMap(\.hexDigitValue).map(UInt8.init) {
            if let first = high { bytes.append(first << 4 | digit) }
            high = high == nil ? digit : nil
        }
        return bytes
    }

    static let byteCount = 32
}

extension Fingerprint: CustomStringConvertible {
    /// The first 128 bits in eight groups of four digits, for comparison by users.
    package var description: String {
        let digits = Array(hex.prefix(32))
        return stride(from: 0, to: digits.count, by: 4).map { String(digits[$0..<$0 + 4]) }.joined(separator: " ")
    }
}

extension Fingerprint: Codable {
    /// Creates the value from its encoded form; throws when the data does not describe one.
    package init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard text.utf8.count == 64, text.allSatisfy({ $0.isHexDigit && !$0.isUppercase }) else {
            throw EncryptionError.malformed(.identityPins, reason: "a fingerprint has 64 hexadecimal digits")
        }
        hex = text
    }

    /// Encodes the value in the form that `init(from:)` reads.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(hex)
    }
}
