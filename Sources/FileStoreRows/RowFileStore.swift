import FileStore
import OrderedStore

/// Files as rows of an ordered store: for clouds whose nodes share a database and have no object store.
///
/// The files of each of the 256 folders are a partition. A file has one row with its length, and its bytes in chunks, each with the
/// checksum that the engine gives every value. Appending, sealing and deleting are one transaction each, so a file is whole or absent
/// after a crash at any moment, and nodes that share the store share its files.
package struct RowFileStore: FileStore {
    private let store: any OrderedStore
    private let now: @Sendable () -> Int64

    /// The bytes of a row at most.
    private static let chunkBytesMax = 512 << 10
    /// A chunk that is not larger grows with the next bytes.
    private static let smallChunkBytes = 64 << 10
    private static let rowsAtOnce = 1000
    /// There is no question for the space that a database has left; it refuses what it cannot keep.
    private static let freeBytesAssumed: Int64 = 1 << 50

    /// Keeps files in a store.
    ///
    /// - Parameters:
    ///   - store: The store, which may hold other partitions.
    ///   - now: Milliseconds since 1970, for the times of files.
    package init(_ store: any OrderedStore, now: @escaping @Sendable () -> Int64) {
        self.store = store
        self.now = now
    }

    /// Returns the partition of one of the 256 folders.
    package static func partition(ofFolder folder: UInt8) -> Partition {
        Partition(Partition.largeValuesPrefix + (folder < 16 ? "0" : "") + String(folder, radix: 16))
    }

    /// Returns the length of a draft in bytes; nil if there is none.
    package func draftLength(of id: FileID) async throws -> Int64? {
        try await read(id, action: "look at a file") { try await $0.fileRow(.draft, id)?.length }
    }

    /// Appends bytes to a draft, which is created at offset 0; durable on return.
    package func append(_ bytes: [UInt8], to id: FileID, at offset: Int64) async throws {
        let now = now()
        try await write(id, action: "append to a file") { transaction in
            let held = try await transaction.fileRow(.draft, id)
            guard held?.length ?? 0 == offset else { throw FileStoreError(.wrongOffset, "append to a file") }
            var row: FileRow
            if let held {
                row = held
            } else {
                // The chunks of a sealed file of this name stay as they are.
                row = FileRow(generation: (try await transaction.fileRow(.file, id)).map { $0.generation ^ 1 } ?? 0)
            }
            var rest = bytes[...]
            let lastCount = row.length - row.lastChunk
            if lastCount > 0, lastCount + Int64(rest.count) <= Self.smallChunkBytes {
                let key = FileRowKey.chunk(id, generation: row.generation, at: row.lastChunk)
                guard let last = try await transaction.get(key), Int64(last.count) == lastCount else {
                    throw FileStoreError(.damaged, "append to a file")
                }
                transaction.set(key, last + rest)
                rest = []
            }
            row.length += Int64(bytes.count)
            while !rest.isEmpty {
                row.lastChunk = row.length - Int64(rest.count)
                let key = FileRowKey.chunk(id, generation: row.generation, at: row.lastChunk)
                transaction.set(key, Bytes(rest.prefix(Self.chunkBytesMax)))
                rest = rest.dropFirst(Self.chunkBytesMax)
            }
            row.modified = now
            transaction.set(FileRowKey.row(.draft, id), row.bytes)
        }
    }

    /// Returns up to `count` bytes of a draft from an offset on.
    package func readDraft(_ id: FileID, at offset: Int64, count: Int) async throws -> [UInt8] {
        try await read(id, action: "read a file") { try await $0.fileBytes(.draft, id, at: offset, count: count) }
    }

    /// Does nothing: what was appended is durable.
    package func synchronize(_ id: FileID) {}

    /// Turns a draft into a file, durable on return.
    package func seal(_ id: FileID) async throws {
        let now = now()
        try await write(id, action: "seal a file") { transaction in
            guard try await transaction.fileRow(.file, id) == nil else { return }
            var row = try await transaction.fileRow(.draft, id) ?? FileRow(generation: 0)
            row.modified = now
            transaction.set(FileRowKey.row(.file, id), row.bytes)
            transaction.clear(FileRowKey.row(.draft, id))
        }
    }

    /// Returns the length of a file in bytes; nil if there is none.
    package func length(of id: FileID) async throws -> Int64? {
        try await read(id, action: "look at a file") { try await $0.fileRow(.file, id)?.length }
    }

    /// Returns up to `count` bytes of a file from an offset on.
    ///
    /// - Throws: `damaged` if a checksum does not hold, or bytes are missing.
    package func read(_ id: FileID, at offset: Int64, count: Int) async throws -> [UInt8] {
        try await read(id, action: "read a file") { try await $0.fileBytes(.file, id, at: offset, count: count) }
    }

    /// Deletes a file or draft; one that does not exist is no error.
    package func delete(_ id: FileID) async throws {
        try await write(id, action: "delete a file") { transaction in
            transaction.clear(FileRowKey.row(.file, id))
            transaction.clear(FileRowKey.row(.draft, id))
            transaction.clear(FileRowKey.chunks(id))
        }
    }

    /// Returns the files of one of the 256 folders.
    package func files(inFolder folder: UInt8) async throws -> [FileEntry] {
        try await entries(.file, inFolder: folder)
    }

    /// Returns all drafts.
    package func drafts() async throws -> [FileEntry] {
        var found: [FileEntry] = []
        for folder in UInt8.min...UInt8.max { found += try await entries(.draft, inFolder: folder) }
        return found
    }

    /// Returns a large number: the database itself refuses what it cannot keep.
    package func freeBytes() -> Int64 { Self.freeBytesAssumed }

    private func entries(_ kind: FileRowKey.Kind, inFolder folder: UInt8) async throws -> [FileEntry] {
        var range = FileRowKey.all(kind)
        var found: [FileEntry] = []
        while true {
            let page = range
            let entries = try await explaining("list a folder") {
                try await store.read(Self.partition(ofFolder: folder)) {
                    try await $0.scan(page, limit: Self.rowsAtOnce)
                }
            }
            for entry in entries {
                guard let id = FileRowKey.id(entry.key), let row = FileRow(entry.value) else {
                    throw FileStoreError(.damaged, "list a folder")
                }
                found.append(row.entry(id))
            }
            guard entries.count == Self.rowsAtOnce, let last = entries.last else { return found }
            range.lower = last.key + [0]
        }
    }
}

extension RowFileStore {
    private func read<Value: Sendable>(
        _ id: FileID, action: String, _ body: @Sendable (inout ReadTransaction) async throws -> Value
    ) async throws -> Value {
        try await explaining(action) { try await store.read(Self.partition(ofFolder: id.folder), body) }
    }

    private func write(
        _ id: FileID, action: String, _ body: @Sendable (inout WriteTransaction) async throws -> Void
    ) async throws {
        try await explaining(action) { try await store.write(Self.partition(ofFolder: id.folder), body) }
    }

    private func explaining<Value>(_ action: String, _ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as StoreError {
            throw FileStoreError(error, action)
        }
    }
}

extension Reading {
    /// Reads the row of a file or draft; nil if there is none.
    fileprivate func fileRow(_ kind: FileRowKey.Kind, _ id: FileID) async throws -> FileRow? {
        guard let bytes = try await get(FileRowKey.row(kind, id)) else { return nil }
        guard let row = FileRow(bytes) else { throw FileStoreError(.damaged, "look at a file") }
        return row
    }
}

extension ReadTransaction {
    fileprivate func fileBytes(
        _ kind: FileRowKey.Kind, _ id: FileID, at offset: Int64, count: Int
    ) async throws -> [UInt8] {
        guard let row = try await fileRow(kind, id) else { throw FileStoreError(.missing, "read a file") }
        guard offset >= 0, offset < row.length, count > 0 else { return [] }
        let end = offset + min(Int64(count), row.length - offset)
        let before = FileRowKey.chunks(id, generation: row.generation, from: 0, to: offset + 1)
        let within = FileRowKey.chunks(id, generation: row.generation, from: offset + 1, to: end)
        let chunks =
            try await scan(before, limit: 1, reverse: true) + (try await scan(within, limit: .max, reverse: false))
        var found: [UInt8] = []
        found.reserveCapacity(Int(end - offset))
        var next = offset
        for chunk in chunks {
            let skipped = next - FileRowKey.offset(chunk.key)
            guard skipped >= 0, skipped < Int64(chunk.value.count) else { break }
            found += chunk.value.dropFirst(Int(skipped)).prefix(Int(end - next))
            next = offset + Int64(found.count)
        }
        guard next == end else { throw FileStoreError(.damaged, "read a file") }
        return found
    }
}

extension FileStoreError {
    /// The failure of the store that the rows are in.
    fileprivate init(_ error: StoreError, _ action: String) {
        let code: Code =
            switch error.code {
            case .diskFull: .diskFull
            case .damagedValue, .corrupt: .damaged
            default: .unavailable
            }
        self.init(code, action, detail: "\(error.reason); \(error.remedy)")
    }
}
