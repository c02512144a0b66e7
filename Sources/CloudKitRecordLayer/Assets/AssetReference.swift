import OrderedStore

/// A reference from a field of a record to an asset.
///
/// Kept under the asset, so that one short scan decides whether it is still needed. The references of a deleted zone are
/// not touched: its number is never used again.
package struct AssetReference: Hashable, Sendable {
    /// The file.
    package var id: AssetFileID
    /// The number of the zone.
    package var zone: UInt32
    /// The name of the record.
    package var recordName: String
    /// The name of the field.
    package var fieldName: String

    /// Creates a value with the given properties.
    package init(id: AssetFileID, zone: UInt32, recordName: String, fieldName: String) {
        self.id = id
        self.zone = zone
        self.recordName = recordName
        self.fieldName = fieldName
    }

    var key: Bytes {
        var key = KeyBuilder(.assetReference, capacity: 96)
        key.append(id.name)
        key.append(Int64(zone))
        key.append(recordName)
        key.append(fieldName)
        return key.bytes
    }

    init(_ entry: Entry) throws {
        var key = KeyReader(entry.key, in: .assetReference)
        guard let id = AssetFileID(name: try key.readString()), let zone = UInt32(exactly: try key.readInteger())
        else { throw DamagedValue(.assetReference) }
        self.init(id: id, zone: zone, recordName: try key.readString(), fieldName: try key.readString())
    }
}

extension Reading {
    /// Up to `limit` references to an asset.
    package func references(toAsset id: AssetFileID, limit: Int) async throws -> [AssetReference] {
        let range = KeyBuilder(.assetReference).adding(id.name).range
        return try await scan(range, limit: limit).map(AssetReference.init)
    }

    /// Bytes of the assets that a zone's records hold.
    package func assetBytes(zone: UInt32) async throws -> UInt64 {
        guard let bytes = try await get(AssetReference.bytesKey(zone: zone)) else { return 0 }
        var value = ValueReader(bytes, of: .assetBytes)
        return try value.number()
    }

    /// Bytes of the assets that all records of a partition hold, for quota (B-AST-06).
    package func assetBytes() async throws -> UInt64 {
        var sum: UInt64 = 0
        for entry in try await scan(Subspace.assetBytes.range, limit: .max) {
            var value = ValueReader(entry.value, of: .assetBytes)
            let (total, overflow) = sum.addingReportingOverflow(try value.number())
            sum = overflow ? .max : total
        }
        return sum
    }
}

extension WriteTransaction {
    /// Writes an asset reference.
    package mutating func set(_ reference: AssetReference) { set(reference.key, []) }
    /// Removes an asset reference.
    package mutating func clear(_ reference: AssetReference) { clear(reference.key) }

    /// Sets the bytes of the assets that the zone's records hold.
    package mutating func setAssetBytes(zone: UInt32, _ bytes: UInt64) {
        var value = ValueWriter(capacity: 8)
        value.add(bytes)
        set(AssetReference.bytesKey(zone: zone), value.bytes)
    }
}

extension AssetReference {
    fileprivate static func bytesKey(zone: UInt32) -> Bytes { KeyBuilder(.assetBytes, zone: zone).bytes }
}
