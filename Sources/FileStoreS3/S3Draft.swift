import FileStore

/// A draft as this process knows it: the objects that hold its bytes, and those that no object holds yet.
struct S3Draft {
    /// An object with some of a draft's bytes.
    struct Segment: Hashable, Sendable {
        var offset: Int64
        var length: Int64
        var end: Int64 { offset + length }
    }

    /// One behind the other, the first at offset 0.
    var segments: [Segment] = []
    /// Bytes behind those of the segments.
    var buffer: [UInt8] = []
    /// The time of the last use, in milliseconds since 1970.
    var used: Int64 = 0

    var storedLength: Int64 { segments.last?.end ?? 0 }
    var length: Int64 { storedLength + Int64(buffer.count) }

    /// Returns the segments that follow one another from offset 0.
    ///
    /// Two nodes that received the same bytes may have cut them in different ways: what begins within an earlier segment is
    /// passed over, and nothing behind a gap counts.
    static func chain(_ found: [Segment]) -> [Segment] {
        var chain: [Segment] = []
        for segment in found.sorted(by: { $0.offset < $1.offset }) {
            let end = chain.last?.end ?? 0
            if segment.offset > end { break }
            if segment.offset == end, segment.length > 0 { chain.append(segment) }
        }
        return chain
    }
}

/// The keys of objects, behind the prefix of the place.
enum S3Key {
    static let files = "files/"
    static let drafts = "drafts/"

    static func file(_ id: FileID) -> String { folder(id.folder) + id.name }

    static func folder(_ number: UInt8) -> String {
        files + (number < 16 ? "0" : "") + String(number, radix: 16) + "/"
    }

    static func draft(_ id: FileID) -> String { drafts + id.name + "/" }

    static func segment(_ id: FileID, at offset: Int64) -> String {
        let digits = String(offset, radix: 16)
        return draft(id) + String(repeating: "0", count: max(0, 16 - digits.count)) + digits
    }

    /// Returns the id in the key of a file; nil if it is another one.
    static func fileID(_ key: String) -> FileID? {
        let parts = key.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, let id = FileID(name: String(parts[2])), key == file(id) else { return nil }
        return id
    }

    /// Returns the draft and the offset in the key of a segment; nil if it is another one.
    static func segment(_ key: String) -> (id: FileID, offset: Int64)? {
        let parts = key.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, let id = FileID(name: String(parts[1])), let offset = Int64(parts[2], radix: 16),
            key == segment(id, at: offset)
        else { return nil }
        return (id, offset)
    }
}
