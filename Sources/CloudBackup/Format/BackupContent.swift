/// A sequence of bytes in a backup, cut into chunks.
///
/// Few chunks are named directly. More are named by lists, which are chunks themselves: of a large store with few changes most lists are those of the
/// moment before, so that a moment costs little however large the store is.
package struct BackupContent: Hashable, Sendable, Codable {
    /// The number of bytes.
    var bytes: Int64 = 0
    /// The chunks, if they are few.
    var chunks: [ChunkID] = []
    /// The lists of chunks, 32 bytes for each, if they are many.
    var lists: [ChunkID]?

    /// Chunks that are named without a list.
    static let directMax = 16
    /// Chunks that a list names.
    static let listMax = 1024
}

/// A file in a backup.
package struct BackupFile: Hashable, Sendable, Codable {
    /// The name in its folder.
    var name: String
    var content: BackupContent
}
