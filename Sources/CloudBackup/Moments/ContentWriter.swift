import Foundation

/// Cuts bytes into chunks and puts them into a backup.
struct ContentWriter {
    let backup: Backup
    /// What was written so far.
    private(set) var counts = BackupManifest.Counts()

    init(_ backup: Backup) { self.backup = backup }

    /// Bytes of a chunk of the store: eight pages, so that a change of one page adds little.
    static let storeChunkBytes = 65_536
    /// Bytes of a chunk of a file that never changes.
    static let fileChunkBytes = 1 << 20

    /// Adds what `read` returns.
    ///
    /// - Parameters:
    ///   - length: The number of bytes.
    ///   - chunkBytes: The size of all chunks but the last.
    ///   - read: Returns the bytes from an offset on, as many as asked for.
    mutating func add(
        length: Int64, chunkBytes: Int, kind: ChunkKind = .content,
        _ read: (_ offset: Int64, _ count: Int) throws -> [UInt8]
    ) throws -> BackupContent {
        var ids: [ChunkID] = []
        for offset in stride(from: 0, to: length, by: chunkBytes) {
            let count = Int(min(Int64(chunkBytes), length - offset))
            ids.append(try put(try read(offset, count), kind))
        }
        var content = BackupContent(bytes: length)
        if ids.count <= BackupContent.directMax {
            content.chunks = ids
        } else {
            content.lists = try stride(from: 0, to: ids.count, by: BackupContent.listMax).map { start in
                try put(ids[start..<min(start + BackupContent.listMax, ids.count)].flatMap(\.bytes), .list)
            }
        }
        return content
    }

    /// Adds bytes that are in memory.
    mutating func add(_ bytes: [UInt8], kind: ChunkKind = .content) throws -> BackupContent {
        try add(length: Int64(bytes.count), chunkBytes: Self.storeChunkBytes, kind: kind) { offset, count in
            Array(bytes[Int(offset)..<Int(offset) + count])
        }
    }

    /// Adds a file.
    ///
    /// - Parameter checkCancellation: Called before each chunk.
    mutating func add(file path: String, _ checkCancellation: () throws -> Void = {}) throws -> BackupContent {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw BackupError(system: errno, "open a file", path: path) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw BackupError(system: errno, "look at a file", path: path) }
        let length = Int64(status.st_size)
        return try add(length: length, chunkBytes: Self.fileChunkBytes) { offset, count in
            try checkCancellation()
            let bytes = try BackupDisk.read(descriptor, at: offset, count: count, path: path)
            guard bytes.count == count else { throw BackupError(system: EIO, "read all of a file", path: path) }
            return bytes
        }
    }

    mutating func note(asset length: Int64) {
        counts.assets += 1
        counts.assetBytes += length
    }

    mutating func note(store length: Int64) { counts.storeBytes = length }

    private mutating func put(_ bytes: [UInt8], _ kind: ChunkKind) throws -> ChunkID {
        let (id, written) = try backup.put(bytes, kind)
        if written > 0 {
            counts.chunksAdded += 1
            counts.bytesAdded += Int64(written)
        }
        return id
    }
}
