import CloudKitModel
import CloudKitRecordLayer

/// Decides which files the asset fields of a record will hold: those that receipts prove, and those that the record holds
/// already.
struct AssetPlanner: Sendable {
    private let known: [AssetFileID: StoredAsset]
    private let now: Int64

    /// - Parameter known: The files of the receipts, as the database knows them.
    init(known: [StoredAsset], now: Int64) {
        self.known = Dictionary(known.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        self.now = now
    }

    /// Returns the fields with every asset bound to its file, in the stored form.
    ///
    /// An asset without a receipt must be one that the same field of the record holds, identified by its checksum
    /// (docs/web-services.md §7); the client's values for its key prevail.
    ///
    /// - Throws: `badRequest` for an asset without a receipt that is not held, or with a receipt for another type of
    ///   record; `assetNotAvailable` for a receipt that has expired.
    func bind(
        _ fields: [Field], of item: IncomingChange, recordType: String, held: StoredRecord?
    ) throws -> [Field] {
        guard fields.contains(where: { $0.type.base == .asset }) else { return fields }
        let heldFields = try held?.fields(ofType: .asset) ?? []
        return try fields.map { field in
            guard field.type.base == .asset else { return field }
            let heldAssets = try heldFields.first { $0.name == field.name }?.assets() ?? []
            return try field.with(
                try field.assets().map { try bind($0, of: item, recordType: recordType, among: heldAssets) })
        }
    }

    private func bind(
        _ asset: AssetValue, of item: IncomingChange, recordType: String, among held: [AssetValue]
    ) throws(RequestFailure) -> AssetValue {
        guard let id = asset.fileID.flatMap({ AssetFileID(name: $0) }) else {
            guard let same = held.first(where: { $0.fileChecksum == asset.fileChecksum }) else { throw .noReceipt }
            return same.keepingFile(in: asset)
        }
        // The save may be a repetition of one whose answer was lost.
        if held.contains(where: { $0.fileID == asset.fileID }) { return asset }
        guard let receipt = item.receipts[id], receipt.expires > now, known[id] != nil else { throw .receiptExpired }
        guard receipt.purpose.recordType == nil || receipt.purpose.recordType == recordType else { throw .badReceipt }
        return asset
    }
}

extension AssetValue {
    /// Another dictionary for the same file.
    fileprivate func keepingFile(in other: AssetValue) -> AssetValue {
        AssetValue(
            fileChecksum: fileChecksum, size: size, wrappingKey: other.wrappingKey ?? wrappingKey,
            referenceChecksum: other.referenceChecksum ?? referenceChecksum, fileID: fileID)
    }
}

/// The asset fields of one record of a request, checked before anything is read.
struct IncomingAssets {
    /// The field with the files that its receipts prove, without the values that a client cannot know.
    var field: Field
    var receipts: [AssetReceipt] = []

    /// - Parameter purpose: The field that is being saved.
    /// - Throws: `badRequest` for a receipt that is not this cloud's or for something else, and for a size or checksum
    ///   other than that of the file.
    init(_ field: Field, for purpose: AssetPurpose, _ seal: AssetSeal) throws(RequestFailure) {
        self.field = field
        guard !field.type.isEncrypted else {
            // Assets are sealed by their own keys (B-ENC-01).
            throw RequestFailure(.badRequest, "assets cannot be encrypted fields")
        }
        var assets: [AssetValue] = []
        for asset in try field.assets() {
            var claimed = AssetValue(
                fileChecksum: asset.fileChecksum, size: asset.size, wrappingKey: asset.wrappingKey,
                referenceChecksum: asset.referenceChecksum)
            if let text = asset.receipt {
                guard let receipt = AssetReceipt(text, by: seal), receipt.purpose.allows(purpose) else {
                    throw .badReceipt
                }
                guard receipt.size == asset.size, receipt.fileChecksum == asset.fileChecksum else {
                    throw RequestFailure(
                        .badRequest, "size or fileChecksum is not that of the uploaded file",
                        remedy: "Save what the upload answered.")
                }
                claimed.fileID = receipt.id.name
                receipts.append(receipt)
            }
            assets.append(claimed)
        }
        self.field = try field.with(assets)
    }
}

extension RequestFailure {
    static let badReceipt = RequestFailure(
        .badRequest, "invalid asset receipt", remedy: "Upload the file for the field in which it is saved.")

    static let noReceipt = RequestFailure(
        .badRequest, "missing asset receipt", remedy: "Upload the file with assets/upload first.")

    static let receiptExpired = RequestFailure(
        .assetNotAvailable, "the uploaded file is no longer available", remedy: "Upload the file again.")
}
