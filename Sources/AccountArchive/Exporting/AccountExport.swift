import CloudKitClient
import CloudKitDevice

/// Writes everything of an account into a new folder, with sealed values opened on this device.
package struct AccountExport: Sendable {
    private let account: SignedInAccount
    private let program: String

    /// Creates the export of an account.
    ///
    /// - Parameters:
    ///   - account: The account.
    ///   - program: The name of the program with its version, for people who read the manifest.
    package init(_ account: SignedInAccount, program: String) {
        self.account = account
        self.program = program
    }

    /// Writes the export. Records are read page by page, so that memory does not grow with them.
    ///
    /// Without an error the folder has a manifest. Where the export stops, the folder stays without one, and `AccountImport` refuses it.
    ///
    /// - Parameters:
    ///   - path: The folder, which must not exist.
    ///   - earlier: An earlier export of the account, finished or not, from which records that are unchanged are taken with their files.
    ///   - progress: Receives the title of each container when its export begins.
    /// - Returns: The manifest.
    /// - Throws: `ArchiveError`, `SignInError`, `TransportFailure`.
    package func run(
        into path: String, since earlier: EarlierExport? = nil, progress: @Sendable (String) -> Void = { _ in }
    ) async throws -> ExportManifest {
        let email = try account.email()
        try earlier?.require(cloud: account.cloud, account: email)
        let places = try await account.containers()
        let folder = try ExportFolder(new: path)
        var manifest = ExportManifest(
            format: ExportManifest.formatNewest, program: program, cloud: account.cloud, account: email,
            created: account.now, containers: [], assetCount: 0, assetBytes: 0)
        var outline = ExportOutline(cloud: account.cloud, account: email)
        for (index, place) in places.enumerated() {
            progress("\(place.container) (\(place.environment))")
            var export = ContainerExport(
                place, connection: account.connection(to: place), folder: folder, number: index + 1,
                earlier: earlier)
            do {
                manifest.containers.append(try await export.run(noting: &outline))
            } catch {
                throw ArchiveError(error, container: place.container)
            }
            if earlier != nil {
                progress(
                    "\(place.container) (\(place.environment)): \(export.takenCount) records from the earlier export")
            }
            manifest.assetCount += export.assetCount
            manifest.assetBytes += export.assetBytes
        }
        try folder.write(manifest)
        return manifest
    }
}
