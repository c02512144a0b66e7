import CloudKitModel
import CloudKitRecordLayer

/// Writes the effects of a batch on references to assets, in the transaction of the batch.
struct AssetReferenceWriter: Sendable {
    private var added: Set<AssetReference> = []
    private var removed: Set<AssetReference> = []
    private var bytes: Int64 = 0

    /// Notes that a record's fields change.
    ///
    /// - Parameters:
    ///   - old: Its asset fields as they were.
    ///   - new: Its fields as they will be, of any type.
    mutating func note(_ recordName: String, zone: UInt32, from old: [Field], to new: [Field]) throws {
        let before = try AssetUse.uses(of: old)
        let after = try AssetUse.uses(of: new)
        if before.isEmpty, after.isEmpty { return }
        func reference(_ use: AssetUse) -> AssetReference {
            AssetReference(id: use.id, zone: zone, recordName: recordName, fieldName: use.fieldName)
        }
        for use in before.subtracting(after) {
            removed.insert(reference(use))
            bytes -= use.size
        }
        for use in after.subtracting(before) {
            added.insert(reference(use))
            bytes += use.size
        }
    }

    /// - Parameters:
    ///   - now: Milliseconds since 1970.
    ///   - grace: How long a file stays that lost a reference, milliseconds.
    mutating func write(
        zone: UInt32, now: Int64, grace: Int64, _ transaction: inout StorageWriter
    ) async throws {
        if added.isEmpty, removed.isEmpty { return }
        for reference in removed { transaction.clear(reference) }
        for reference in added { transaction.set(reference) }
        let left = Set(removed.map(\.id))
        for case var asset? in try await transaction.assets(Array(left)) {
            asset.keptUntil = max(asset.keptUntil, now + grace)
            transaction.set(asset)
        }
        let held = Int64(clamping: try await transaction.assetBytes(zone: zone))
        transaction.setAssetBytes(zone: zone, UInt64(max(0, held + bytes)))
        self = AssetReferenceWriter()
    }
}

/// A file in a field; the same file twice in a list counts once.
struct AssetUse: Hashable, Sendable {
    var fieldName: String
    var id: AssetFileID
    var size: Int64

    static func uses(of fields: [Field]) throws(RequestFailure) -> Set<AssetUse> {
        var uses: Set<AssetUse> = []
        for field in fields where field.type.base == .asset {
            for asset in try field.assets() {
                guard let id = asset.fileID.flatMap({ AssetFileID(name: $0) }) else {
                    throw RequestFailure(.internalError, "A stored field is damaged.")
                }
                uses.insert(AssetUse(fieldName: field.name, id: id, size: asset.size))
            }
        }
        return uses
    }

    /// Bytes of the files in fields together.
    static func bytes(of fields: [Field]) throws(RequestFailure) -> Int64 {
        try uses(of: fields).reduce(0) { $0 + $1.size }
    }
}
