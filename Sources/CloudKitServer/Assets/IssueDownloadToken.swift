import CloudKitModel
import CloudKitRecordLayer

/// Issues the token of which the download URL of a stored asset is made.
package struct IssueDownloadToken: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Returns the token of which the download URL of a stored asset is made; nil for an asset that has no file.
    ///
    /// The token is valid for some hours, for any holder.
    ///
    /// - Parameter bearer: The receiver of the answer with the URL.
    package func run(for asset: AssetValue, bearer: AssetBearer) -> String? {
        guard let id = asset.fileID.flatMap({ AssetFileID(name: $0) }) else { return nil }
        let token = AssetDownloadToken(
            bearer: bearer, id: id, size: asset.size, fileChecksum: asset.fileChecksum,
            expires: cloud.serverEnvironment.now() + cloud.limits.assetLifetimes.download)
        return try? token.sealed(by: cloud.assetSeal)
    }
}
