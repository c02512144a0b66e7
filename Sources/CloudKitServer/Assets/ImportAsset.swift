import CloudKitModel
import CloudKitRecordLayer

/// Copies a file of an account for another of its records, also one in another container, without a transfer to the device.
package struct ImportAsset: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    private static let chunkBytes = 1_048_576

    /// Copies the file that a download token opens.
    ///
    /// The token shows that an app of the source could read the file; it has to be one that the same account got. What may
    /// be uploaded for the field may be imported.
    ///
    /// - Parameter token: The token of the file's download URL.
    /// - Returns: The asset with a receipt, as after an upload.
    /// - Throws: `itemNotFound` for what is no file of the account; `assetNotAvailable` when the time of the token is over, or
    ///   the file is gone; the failures of an upload.
    package func run(
        _ request: ImportAssetRequest, token: String, in address: DatabaseAddress, by caller: Caller
    ) async throws -> AssetValue {
        guard let user = caller.user, !caller.isServerKey else { throw RequestFailure.notSignedIn }
        guard let source = AssetDownloadToken(token, by: cloud.assetSeal),
            source.bearer.environment == address.environment,
            try await isSameAccount(user, in: address.container, as: source.bearer)
        else { throw Self.unknownAsset }
        guard cloud.serverEnvironment.now() < source.expires,
            try await cloud.files.length(of: source.id) == source.size
        else { throw Self.notAvailable }
        let targets = try await PermitAssetUploads(cloud).run(
            AssetUploadRequest(items: [request.item], zoneID: request.zoneID), in: address, by: caller)
        var reception = try await OpenAssetUpload(cloud).run(targets[0].url).receiveWhole(announced: source.size)
        do {
            while reception.held < source.size {
                let count = Int(min(Int64(Self.chunkBytes), source.size - reception.held))
                let bytes = try await cloud.files.read(source.id, at: reception.held, count: count)
                guard !bytes.isEmpty else { throw Self.notAvailable }
                try await reception.receive(bytes)
            }
            return try await reception.finish()
        } catch {
            try await reception.abandon()
            if let error = error as? FilesError, error.code == .missing { throw Self.notAvailable }
            throw error
        }
    }

    private func isSameAccount(
        _ user: UserID, in container: ContainerID, as bearer: AssetBearer
    ) async throws -> Bool {
        guard let other = bearer.user else { return false }
        let names = cloud.accountStore.userNames
        guard let account = try await names.owner(of: user, in: container) else { return false }
        return try await names.owner(of: other, in: bearer.container) == account
    }

    /// As for a file that never was: another account learns nothing.
    private static let unknownAsset = RequestFailure(
        .itemNotFound, "there is no such asset of this account", remedy: "Export the asset of a record again.")

    private static let notAvailable = RequestFailure(
        .assetNotAvailable, "the exported asset is no longer available",
        remedy: "Fetch its record and export the asset again.")
}
