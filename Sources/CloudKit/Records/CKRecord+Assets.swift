import CloudKitClient
import Foundation

extension CKAsset: OutgoingAsset {}

extension AssetField {
    /// nil: the value is neither an asset nor a list of assets only.
    init?(_ name: String, _ value: NSObject) {
        guard let assets = CKAsset.assets(in: value) else { return nil }
        self.init(name: name, isList: value is NSArray, assets: assets)
    }
}

extension CKAsset {
    /// The assets of a field; nil: the value is no asset and no list of nothing but assets.
    fileprivate static func assets(in value: NSObject) -> [CKAsset]? {
        if let asset = value as? CKAsset { return [asset] }
        guard let list = value as? NSArray else { return nil }
        let assets = list.compactMap { $0 as? CKAsset }
        return assets.isEmpty || assets.count != list.count ? nil : assets
    }
}

extension CKRecord {
    /// The assets that the server had of the record when it was last fetched or saved, by field name (B-AST-03).
    var heldAssets: [UploadedAsset] {
        fields.original.sorted { $0.key < $1.key }.flatMap { _, value in
            CKAsset.assets(in: value)?.compactMap(\.lastKept) ?? []
        }
    }
}

extension RecordFields {
    /// The asset at a place.
    func asset(at slot: AssetSlot) -> CKAsset? {
        guard let position = slot.position else { return values[slot.field] as? CKAsset }
        guard let list = values[slot.field] as? NSArray, list.count > position else { return nil }
        return list[position] as? CKAsset
    }
}
