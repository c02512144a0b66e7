import CloudKitClient
import CloudKitEncryption
import CloudKitModel
import Foundation

/// Archives of assets, which apps make when they archive the values of a record.
extension CKAsset: NSSecureCoding {
    /// The position of the file and the server's copy, as an archive has them.
    struct Content: Encodable, ArchivedContent {
        var path: String?
        var stored: StoredAsset?
    }

    /// The server's copy of a file.
    struct StoredAsset: Codable {
        var fileChecksum: String
        var size: Int64
        var wrappingKey: String?
        var referenceChecksum: String?
        var receipt: String?
        var downloadURL: String?
        var place: Place
        /// The key of the file, in clear as encrypted values are.
        var secret: Data?

        struct Place: Codable {
            var record: CKRecordID.Content
            var recordType: String
            var field: String
            var position: Int?
        }
    }

    /// A Boolean value that indicates whether the class can be archived securely; always true.
    public static var supportsSecureCoding: Bool { true }

    /// Creates the asset from an archive, of which the file is not a part; nil when the archive does not describe one.
    public convenience init?(coder: NSCoder) {
        guard let content = Archive.content(Content.self, from: coder) else { return nil }
        self.init(content)
    }

    /// Writes the position of the file, and what is known of the server's copy, into an archive.
    public func encode(with coder: NSCoder) { Archive.encode(content, into: coder) }

    var content: Content { Content(path: fileURL?.path, stored: lastKept.map { StoredAsset($0) }) }

    /// nil for content that names neither a file nor a server's copy.
    convenience init?(_ content: Content) {
        if let stored = content.stored {
            guard let kept = stored.kept else { return nil }
            self.init(kept, archivedAt: content.path)
        } else if let path = content.path {
            self.init(nil, archivedAt: path)
        } else {
            return nil
        }
    }
}

extension CKAsset.Content {
    /// An asset in an archive of Apple's framework; nil for any other object, and without a file.
    init?(apple archived: ArchivedObject) {
        guard let url = archived.url("AssetFileURL"), url.isFileURL else { return nil }
        self.init(path: url.path, stored: nil)
    }
}

extension CKAsset.StoredAsset {
    init(_ kept: UploadedAsset) {
        let asset = kept.value
        self.init(
            fileChecksum: asset.fileChecksum, size: asset.size, wrappingKey: asset.wrappingKey,
            referenceChecksum: asset.referenceChecksum, receipt: asset.receipt, downloadURL: asset.downloadURL,
            place: Place(
                record: CKRecordID(kept.place.record).content, recordType: kept.place.recordType,
                field: kept.place.slot.field, position: kept.place.slot.position),
            secret: kept.secret.map { Data($0.bytes) })
    }

    /// nil: the record has no valid identifier.
    var kept: UploadedAsset? {
        guard let id = CKRecordID(place.record) else { return nil }
        let value = AssetValue(
            fileChecksum: fileChecksum, size: size, wrappingKey: wrappingKey, referenceChecksum: referenceChecksum,
            receipt: receipt, downloadURL: downloadURL)
        return UploadedAsset(
            value: value,
            place: AssetLocation(
                record: id.model, recordType: place.recordType,
                slot: AssetSlot(field: place.field, position: place.position)),
            secret: secret.flatMap { try? AssetSecret(bytes: Array($0)) })
    }
}
