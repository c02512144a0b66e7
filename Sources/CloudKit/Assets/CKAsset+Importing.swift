import CloudKitClient
import CloudKitEncryption
import Foundation

extension CKAsset {
    /// The identifier of an asset that one app exports and another one of the same account imports.
    ///
    /// It holds the address of the file, good for six hours, and for an asset of a private or shared database the file's key:
    /// whoever has it can read the file, so treat it as the file itself.
    public struct ExportedAssetID: Codable, Sendable {
        private var downloadURL: String
        private var size: Int64
        private var fileChecksum: String
        private var secret: Data?

        init(_ asset: ImportedAsset) {
            downloadURL = asset.downloadURL
            size = asset.size
            fileChecksum = asset.fileChecksum
            secret = asset.secret.map { Data($0.bytes) }
        }

        /// The asset; one whose key is damaged cannot be opened by any device, and counts as unknown.
        var asset: ImportedAsset {
            let key = secret.map { try? AssetSecret(bytes: Array($0)) }
            return ImportedAsset(
                downloadURL: key == .some(nil) ? "-" : downloadURL, size: size, fileChecksum: fileChecksum,
                secret: key ?? nil)
        }
    }

    /// Creates an asset that the server copies when its record is saved, without a transfer to the device.
    ///
    /// The save fails with `unknownItem` if the ID is not one of this account at this cloud and in this environment, and with
    /// `assetNotAvailable` if its time is over or the asset is gone. Files of private and shared databases are sealed, those of
    /// public ones are not; a save in a database of the other kind fails with `invalidArguments`.
    ///
    /// - Parameter exportedAssetID: An ID from ``exportedAssetID`` of an app of the same account.
    public convenience init(importing exportedAssetID: CKAsset.ExportedAssetID) {
        self.init(importing: exportedAssetID.asset)
    }

    /// The ID by which another app of the account can import this asset; nil for one that was not fetched from the server.
    ///
    /// Welkin's own addition: on other platforms the system's apps export assets.
    public var exportedAssetID: ExportedAssetID? {
        guard let kept = lastKept, let address = kept.value.downloadURL else { return nil }
        return ExportedAssetID(
            ImportedAsset(
                downloadURL: address, size: kept.value.size, fileChecksum: kept.value.fileChecksum,
                secret: kept.secret))
    }
}
