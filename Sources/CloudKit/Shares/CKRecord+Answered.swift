import CloudKitClient
import CloudKitModel

extension CKRecord {
    /// A record as the server answered it; a share as a `CKShare`.
    ///
    /// - Throws: As `init(_:asset:)`.
    static func answered(
        _ opened: OpenedRecord, asset: ((AssetSlot, AssetValue) -> CKAsset)? = nil
    ) throws(CKError) -> CKRecord {
        guard let share = opened.record.sharing else { return try CKRecord(opened, asset: asset) }
        return CKShare(state: try state(of: opened, asset: asset), sharing: SharingState(share, link: opened.link))
    }
}
