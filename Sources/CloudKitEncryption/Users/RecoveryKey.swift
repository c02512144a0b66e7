import Crypto

/// 128 random bits that open an account when the password is forgotten; printed once, as 12 words with a checksum (BIP-39).
package struct RecoveryKey: Equatable, Sendable {
    private let bytes: [UInt8]

    /// The number of recovery words.
    package static let wordCount = 12
    private static let byteCount = 16

    /// Draws a new recovery key.
    package init(random: Randomness = .system) { bytes = random.bytes(Self.byteCount) }

    init(bytes: [UInt8]) throws(EncryptionError) {
        guard bytes.count == Self.byteCount else { throw .malformed(.recoveryKey, reason: "it has 16 bytes") }
        self.bytes = bytes
    }

    /// To be shown once and never stored.
    package var words: [String] {
        let checksum = Self.checksum(bytes)
        var words: [String] = []
        var buffer = 0
        var bits = 0
        for byte in bytes + [checksum << 4] {
            buffer = buffer << 8 | Int(byte)
            bits += 8
            guard bits >= 11 else { continue }
            bits -= 11
            words.append(RecoveryWords.list[buffer >> bits & 0x7FF])
            buffer &= (1 << bits) - 1
        }
        return words
    }

    /// Reads words as users type them: any case, any spaces, commas, hyphens or line breaks between them.
    ///
    /// - Throws: An error that names the wrong words, with the words they may have been.
    package init(words text: String) throws(RecoveryKeyError) {
        let typed = text.lowercased().split { !$0.isLetter }.map(String.init)
        guard typed.count == Self.wordCount else { throw .wordCount(typed.count) }
        var unknown: [RecoveryKeyError.UnrecognizedWord] = []
        var indexes: [Int] = []
        for (offset, word) in typed.enumerated() {
            if let index = RecoveryWords.index[word] {
                indexes.append(index)
            } else {
                unknown.append(
                    .init(position: offset + 1, word: word, suggestions: RecoveryWords.suggestions(for: word)))
            }
        }
        guard unknown.isEmpty else { throw .unknownWords(unknown) }
        bytes = try Self.bytes(of: indexes)
    }

    /// 12 words of 11 bits: 128 bits and a checksum of 4.
    private static func bytes(of indexes: [Int]) throws(RecoveryKeyError) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = 0
        var bits = 0
        for index in indexes {
            buffer = buffer << 11 | index
            bits += 11
            while bits >= 8 {
                bits -= 8
                bytes.append(UInt8(buffer >> bits & 0xFF))
                buffer &= (1 << bits) - 1
            }
        }
        guard buffer == Int(checksum(bytes)) else { throw .checksum }
        return bytes
    }

    /// The first 4 bits of the SHA-256.
    private static func checksum(_ bytes: [UInt8]) -> UInt8 {
        SHA256.hash(data: bytes).withUnsafeBytes { $0[0] >> 4 }
    }

    /// Proves to the cloud that someone holds the recovery key; 32 bytes, of which the cloud keeps a hash.
    package var proof: [UInt8] {
        SecretProof.derive(from: SymmetricKey(data: bytes), info: "welkin recovery proof 1").withUnsafeBytes {
            Array($0)
        }
    }

    /// Wraps the account secret.
    package var wrappingKey: WrappingKey {
        WrappingKey(
            purpose: .recovery,
            material: KeyMaterial(SecretProof.derive(from: SymmetricKey(data: bytes), info: "welkin recovery wrap 1")))
    }
}

extension RecoveryKey: CustomStringConvertible, CustomReflectable {
    /// A textual form of the value, for logs and debugging.
    package var description: String { "(recovery key)" }
    /// Shows nothing: secrets do not appear in logs.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The reason why recovery words are refused. Holds the typed words: for the user who typed them, never for a log.
package enum RecoveryKeyError: Error, Hashable, Sendable {
    /// A word that is not in the list.
    package struct UnrecognizedWord: Hashable, Sendable {
        /// Counted from 1.
        package var position: Int
        /// The word as it was typed.
        package var word: String
        /// At most three words it may have been, the likeliest first.
        package var suggestions: [String]
    }

    case wordCount(Int)
    case unknownWords([UnrecognizedWord])
    /// Every word exists, but together they are no key: a word was mistaken for another, or two changed places.
    case checksum
}

extension RecoveryKeyError: CustomStringConvertible {
    /// A textual form of the value, for logs and debugging.
    package var description: String {
        switch self {
        case .wordCount(let count): "a recovery key has \(RecoveryKey.wordCount) words, these are \(count)"
        case .unknownWords(let words): words.map(\.description).joined(separator: "; ")
        case .checksum:
            "these words do not belong together: one was mistaken for another, or two changed places; compare with the print"
        }
    }
}

extension RecoveryKeyError.UnrecognizedWord: CustomStringConvertible {
    /// A textual form of the value, for logs and debugging.
    package var description: String {
        let unknown = "word \(position), '\(word)', is not a recovery word"
        return suggestions.isEmpty ? unknown : unknown + "; was it \(suggestions.joined(separator: ", "))?"
    }
}
