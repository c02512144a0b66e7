import OrderedStore

/// A file that was uploaded for records of a partition.
///
/// It exists from the end of the upload until nothing refers to the file, no receipt for it can be used, and its time of
/// grace is over; then it is deleted first, and the file after it.
package struct StoredAsset: Hashable, Sendable {
    /// The file.
    package var id: AssetFileID
    /// Bytes.
    package var size: Int64
    /// The checksum by which web services name the file.
    package var fileChecksum: String
    /// Until when the file stays although nothing refers to it, milliseconds since 1970.
    package var keptUntil: Int64

    /// Creates a value with the given properties.
    package init(id: AssetFileID, size: Int64, fileChecksum: String, keptUntil: Int64) {
        self.id = id
        self.size = size
        self.fileChecksum = fileChecksum
        self.keptUntil = keptUntil
    }

    static func key(_ id: AssetFileID) -> Bytes { KeyBuilder(.asset).adding(id.name).bytes }

    private static let format: UInt8 = 1

    var value: Bytes {
        var value = ValueWriter()
        value.add(byte: Self.format)
        value.add(size)
        value.add(keptUntil)
        value.add(fileChecksum)
        return value.bytes
    }

    init(_ id: AssetFileID, decoding bytes: Bytes) throws {
        var value = ValueReader(bytes, of: .asset)
        guard try value.byte() == Self.format else { throw DamagedValue(.asset) }
        self.id = id
        size = try value.number()
        keptUntil = try value.number()
        fileChecksum = try value.text()
    }
}

extension Reading {
    /// Returns the assets of files, in their order; nil for a file that is none, or no more.
    package func assets(_ ids: [AssetFileID]) async throws -> [StoredAsset?] {
        let values = try await get(ids.map(StoredAsset.key))
        return try zip(ids, values).map { id, bytes in try bytes.map { try StoredAsset(id, decoding: $0) } }
    }

    /// Up to `limit` files of the partition, after one, in the order of their names.
    package func assetIDs(after id: AssetFileID?, limit: Int) async throws -> [AssetFileID] {
        var range = Subspace.asset.range
        if let id { range.lower = StoredAsset.key(id) + [0] }
        return try await scan(range, limit: limit).map { entry in
            var key = KeyReader(entry.key, in: .asset)
            guard let id = AssetFileID(name: try key.readString()) else { throw DamagedValue(.asset) }
            return id
        }
    }
}

extension WriteTransaction {
    /// Writes an asset.
    package mutating func set(_ asset: StoredAsset) { set(StoredAsset.key(asset.id), asset.value) }
    /// Removes an asset.
    package mutating func clear(_ asset: StoredAsset) { clear(StoredAsset.key(asset.id)) }
}
