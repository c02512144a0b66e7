import Crypto

/// The kinds of chunks.
enum ChunkKind: Hashable, Sendable {
    /// Bytes of a file.
    case content
    /// Names of chunks or files: what a machine that backs up has to read itself.
    case list
}

/// The name of a chunk: the digest of its content, keyed if the backup is sealed.
package struct ChunkID: Hashable, Sendable, Comparable, Codable, CustomStringConvertible {
    /// 32 bytes.
    let bytes: [UInt8]

    static let byteCount = 32

    /// nil unless there are 32 bytes.
    init?(_ bytes: some Sequence<UInt8>) {
        self.bytes = Array(bytes)
        guard self.bytes.count == Self.byteCount else { return nil }
    }

    /// nil for anything but the 64 digits of an id, so that no name leads out of the backup.
    init?(name: String) {
        var bytes: [UInt8] = []
        var high: UInt8?
        for digit in name.utf8 {
            let value: UInt8
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = digit - UInt8(ascii: "a") + 10
            default: return nil
            }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        guard high == nil else { return nil }
        self.init(bytes)
    }

    /// 64 hexadecimal digits.
    var name: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// A textual form of the value, for logs and debugging.
    package var description: String { name }

    /// Orders ids by their bytes.
    package static func < (left: ChunkID, right: ChunkID) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }

    /// Creates the value from its encoded form; throws when the data does not describe one.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let id = ChunkID(name: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not the name of a chunk")
        }
        self = id
    }

    /// Encodes the value in the form that `init(from:)` reads.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(name)
    }
}
