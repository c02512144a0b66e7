/// A store of files next to the ordered store: large bytes that are written once, in order, and then only read.
///
/// A file begins as a *draft* that grows at its end, and is *sealed* once: a sealed file never changes and is complete
/// and durable, also after `kill -9` at any instruction; until then it is absent. Nothing here holds a file in memory.
///
/// Every function throws `FileStoreError`.
package protocol FileStore: Sendable {
    /// The length of a draft, bytes; nil when there is none.
    func draftLength(of id: FileID) async throws -> Int64?

    /// Appends to a draft; the first bytes, at offset 0, make it.
    ///
    /// - Parameter offset: The draft's length so far: of several writers only one gets on.
    /// - Throws: `wrongOffset` when the draft has another length; `diskFull`.
    func append(_ bytes: [UInt8], to id: FileID, at offset: Int64) async throws

    /// Up to `count` bytes of a draft; fewer only at its end.
    ///
    /// - Throws: `missing`.
    func readDraft(_ id: FileID, at offset: Int64, count: Int) async throws -> [UInt8]

    /// Makes what a draft holds durable. A missing draft is an empty one.
    func synchronize(_ id: FileID) async throws

    /// Turns a draft into a file, durable on return. A missing draft becomes an empty file; a file stays as it is.
    func seal(_ id: FileID) async throws

    /// The length of a sealed file, bytes; nil when there is none.
    func length(of id: FileID) async throws -> Int64?

    /// Up to `count` bytes of a sealed file; fewer only at its end.
    ///
    /// - Throws: `missing`.
    func read(_ id: FileID, at offset: Int64, count: Int) async throws -> [UInt8]

    /// Removes a file and its draft; nothing happens when there is neither.
    func delete(_ id: FileID) async throws

    /// The sealed files of one of 256 folders (`FileID.folder`), in no order.
    func files(inFolder folder: UInt8) async throws -> [FileEntry]

    /// All drafts, in no order.
    func drafts() async throws -> [FileEntry]

    /// Bytes that files may still take.
    func freeBytes() async throws -> Int64

    /// Returns a URL at which anyone can get a sealed file for some minutes without this process; nil where there is none.
    func directURL(of id: FileID) -> String?

    /// The way to read a file from one end to the other.
    var sequentialReading: SequentialReading { get }
}

extension FileStore {
    /// Returns nil: files come through this process.
    package func directURL(of id: FileID) -> String? { nil }

    /// One piece after the other, as is best where files are near.
    package var sequentialReading: SequentialReading { SequentialReading() }
}

/// The way to read files of a store from one end to the other.
package struct SequentialReading: Hashable, Sendable {
    /// The bytes of a piece.
    package var pieceBytes: Int
    /// The number of pieces that are read while an earlier one is used: each takes memory, and none of them a time of its own.
    package var piecesAhead: Int

    /// Creates a way to read.
    package init(pieceBytes: Int = 262_144, piecesAhead: Int = 0) {
        self.pieceBytes = pieceBytes
        self.piecesAhead = piecesAhead
    }
}

/// A file as a store lists it.
package struct FileEntry: Hashable, Sendable {
    /// The name of the file.
    package var id: FileID
    /// Bytes.
    package var length: Int64
    /// The time of the last write or of sealing, in milliseconds since 1970.
    package var modified: Int64

    /// Creates a value with the given properties.
    package init(id: FileID, length: Int64, modified: Int64) {
        self.id = id
        self.length = length
        self.modified = modified
    }
}
