import Synchronization

/// Files that live as long as their process: for tests and for trying things out.
package final class MemoryFileStore: FileStore {
    fileprivate struct File {
        var bytes: [UInt8] = []
        var modified: Int64
    }

    fileprivate struct State {
        var drafts: [FileID: File] = [:]
        var files: [FileID: File] = [:]

        var byteCount: Int64 {
            Int64(drafts.values.reduce(0) { $0 + $1.bytes.count } + files.values.reduce(0) { $0 + $1.bytes.count })
        }
    }

    private let state = Mutex(State())
    private let bytesMax: Int64
    private let directURL: @Sendable (FileID) -> String?
    private let now: @Sendable () -> Int64

    /// - Parameters:
    ///   - bytesMax: What all files together may take.
    ///   - directURL: The URL at which a file can be fetched elsewhere; nil: there is none.
    ///   - now: Milliseconds since 1970.
    package init(
        bytesMax: Int64 = 1 << 40, directURL: @escaping @Sendable (FileID) -> String? = { _ in nil },
        now: @escaping @Sendable () -> Int64
    ) {
        self.bytesMax = bytesMax
        self.directURL = directURL
        self.now = now
    }

    /// Returns the URL that the store was told for a file.
    package func directURL(of id: FileID) -> String? { directURL(id) }

    /// Returns the length of a draft in bytes; nil if there is none.
    package func draftLength(of id: FileID) -> Int64? {
        state.withLock { $0.drafts[id].map { Int64($0.bytes.count) } }
    }

    /// Appends bytes to a draft, which is created at offset 0.
    package func append(_ bytes: [UInt8], to id: FileID, at offset: Int64) throws {
        let now = now()
        try state.withLock { state in
            guard Int64(state.drafts[id]?.bytes.count ?? 0) == offset else {
                throw FileStoreError(.wrongOffset, "append to a file")
            }
            guard Int64(bytes.count) <= bytesMax - state.byteCount else {
                throw FileStoreError(.diskFull, "append to a file")
            }
            state.drafts[id, default: File(modified: now)].bytes += bytes
            state.drafts[id]?.modified = now
        }
    }

    /// Returns up to `count` bytes of a draft from an offset on.
    package func readDraft(_ id: FileID, at offset: Int64, count: Int) throws -> [UInt8] {
        try state.withLock { try Self.read($0.drafts[id], at: offset, count) }
    }

    /// Does nothing: memory is as durable as it gets.
    package func synchronize(_ id: FileID) {}

    /// Turns a draft into a file.
    package func seal(_ id: FileID) {
        let now = now()
        state.withLock { state in
            guard state.files[id] == nil else { return }
            var file = state.drafts.removeValue(forKey: id) ?? File(modified: now)
            file.modified = now
            state.files[id] = file
        }
    }

    /// Returns the length of a file in bytes; nil if there is none.
    package func length(of id: FileID) -> Int64? {
        state.withLock { $0.files[id].map { Int64($0.bytes.count) } }
    }

    /// Returns up to `count` bytes of a file from an offset on.
    package func read(_ id: FileID, at offset: Int64, count: Int) throws -> [UInt8] {
        try state.withLock { try Self.read($0.files[id], at: offset, count) }
    }

    private static func read(_ file: File?, at offset: Int64, _ count: Int) throws -> [UInt8] {
        guard let file else { throw FileStoreError(.missing, "read a file") }
        return Array(file.bytes.dropFirst(Int(offset)).prefix(count))
    }

    /// Deletes a file or draft; one that does not exist is no error.
    package func delete(_ id: FileID) {
        state.withLock { state in
            state.drafts[id] = nil
            state.files[id] = nil
        }
    }

    /// Returns the files of one of the 256 folders.
    package func files(inFolder folder: UInt8) -> [FileEntry] {
        state.withLock { Self.entries($0.files) }.filter { $0.id.folder == folder }
    }

    /// Returns all drafts.
    package func drafts() -> [FileEntry] { state.withLock { Self.entries($0.drafts) } }

    /// Returns the number of bytes that the store can still hold.
    package func freeBytes() -> Int64 { state.withLock { bytesMax - $0.byteCount } }

    /// All files and drafts at a moment.
    package struct Contents: Sendable {
        fileprivate let state: State
    }

    /// The files and drafts that there are now.
    package var contents: Contents { Contents(state: state.withLock { $0 }) }

    /// Puts earlier files and drafts in the place of all that there are.
    package func restore(_ contents: Contents) { state.withLock { $0 = contents.state } }

    private static func entries(_ files: [FileID: File]) -> [FileEntry] {
        files.map { FileEntry(id: $0.key, length: Int64($0.value.bytes.count), modified: $0.value.modified) }
    }
}
