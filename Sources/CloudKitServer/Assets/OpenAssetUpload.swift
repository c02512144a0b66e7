import CloudKitModel
import CloudKitRecordLayer

/// Opens the upload that an upload URL permits.
package struct OpenAssetUpload: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Opens the upload that a ticket permits.
    ///
    /// - Throws: `accessDenied` for a token that is not this cloud's, or whose time is over.
    package func run(_ token: String) throws(RequestFailure) -> AssetUploadSession {
        guard let token = AssetUploadToken(token, by: cloud.assetSeal) else {
            throw RequestFailure(
                .accessDenied, "not an upload URL of this cloud", remedy: "Ask for one with assets/upload.")
        }
        guard cloud.serverEnvironment.now() < token.issued + cloud.limits.assetLifetimes.upload else {
            throw .uploadExpired
        }
        return AssetUploadSession(cloud: cloud, token: token)
    }
}
