import FileStore
import OrderedStore

/// The row of a draft or of a sealed file: everything but its bytes, which are in chunks.
struct FileRow: Hashable {
    /// Bytes.
    var length: Int64 = 0
    /// The time of the last write or of sealing, in milliseconds since 1970.
    var modified: Int64 = 0
    /// Tells the chunks of a sealed file from those of a draft of the same name.
    var generation: UInt8 = 0
    /// The offset of the last chunk.
    var lastChunk: Int64 = 0

    private static let form: UInt8 = 1
    private static let byteCount = 26

    /// The stored form.
    var bytes: Bytes {
        [Self.form, generation] + length.bigEndianBytes + modified.bigEndianBytes + lastChunk.bigEndianBytes
    }

    init(generation: UInt8) {
        self.generation = generation
    }

    /// Reads the stored form; nil if it is none.
    init?(_ bytes: Bytes) {
        guard bytes.count == Self.byteCount, bytes[0] == Self.form else { return nil }
        generation = bytes[1]
        length = Int64(bigEndian: bytes[2..<10])
        modified = Int64(bigEndian: bytes[10..<18])
        lastChunk = Int64(bigEndian: bytes[18..<26])
        guard length >= 0, lastChunk >= 0, lastChunk <= length else { return nil }
    }

    func entry(_ id: FileID) -> FileEntry { FileEntry(id: id, length: length, modified: modified) }
}

/// The keys of the rows of files.
enum FileRowKey {
    /// The rows of sealed files, of drafts, and the chunks of both. No other row of a store begins with one of these bytes.
    enum Kind: UInt8 {
        case file = 0xD1
        case draft = 0xD2
        case chunk = 0xD3
    }

    static func row(_ kind: Kind, _ id: FileID) -> Bytes {
        let name = id.bytes
        // With its length, so that no name begins with another one.
        return [kind.rawValue, UInt8(name.count)] + name
    }

    static func chunk(_ id: FileID, generation: UInt8, at offset: Int64) -> Bytes {
        row(.chunk, id) + [generation] + offset.bigEndianBytes
    }

    /// The chunks of all generations of a file.
    static func chunks(_ id: FileID) -> KeyRange { KeyRange(prefix: row(.chunk, id)) }

    /// The chunks of a generation that begin at an offset from `lower` to `upper`, excluded.
    static func chunks(_ id: FileID, generation: UInt8, from lower: Int64, to upper: Int64) -> KeyRange {
        KeyRange(
            lower: chunk(id, generation: generation, at: lower), upper: chunk(id, generation: generation, at: upper))
    }

    static func all(_ kind: Kind) -> KeyRange { KeyRange(prefix: [kind.rawValue]) }

    /// Returns the name in the key of a file or draft; nil if it is none.
    static func id(_ key: Bytes) -> FileID? {
        guard key.count > 2, Int(key[1]) == key.count - 2 else { return nil }
        return FileID(bytes: Array(key.dropFirst(2)))
    }

    /// Returns the offset in the key of a chunk.
    static func offset(_ key: Bytes) -> Int64 { Int64(bigEndian: key.suffix(8)) }
}

extension Int64 {
    fileprivate init(bigEndian bytes: ArraySlice<UInt8>) {
        self = Int64(bitPattern: bytes.reduce(0) { $0 << 8 | UInt64($1) })
    }

    fileprivate var bigEndianBytes: Bytes {
        (0..<8).map { UInt8(truncatingIfNeeded: self >> (56 - 8 * $0)) }
    }
}
