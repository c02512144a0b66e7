import CloudKitClient
import CloudKitDevice

/// Puts an export into the account that a device is signed in to, at the same cloud or another.
package struct AccountImport: Sendable {
    private let account: SignedInAccount

    /// Creates an import.
    ///
    /// - Parameter account: The account that gets the data.
    package init(_ account: SignedInAccount) { self.account = account }

    /// Imports an export. Nothing is sent before all of it was checked. Records keep their names, so that an import can be repeated: what
    /// is there as new as in the export, or newer, is left.
    ///
    /// - Parameters:
    ///   - path: The folder of the export.
    ///   - skipsMissing: Whether containers that the cloud does not have are left out; otherwise they stop the import.
    ///   - progress: Receives the title of each container when its import begins.
    /// - Throws: `ArchiveError`, `SignInError`, `TransportFailure`.
    package func run(
        from path: String, skipsMissing: Bool = false, progress: @Sendable (String) -> Void = { _ in }
    ) async throws -> ImportReport {
        let reader = try ExportReader(path)
        try reader.check()
        var report = ImportReport()
        let wanted = reader.manifest.containers
        let places = try await account.containers(alsoNamed: Set(wanted.map(\.container)).sorted())
        func place(of container: ExportedContainer) -> AccountContainer? {
            places.first { $0.container == container.container && $0.environment == container.environment }
        }
        report.missingContainers = wanted.filter { place(of: $0) == nil }.map(\.title)
        guard skipsMissing || report.missingContainers.isEmpty else {
            throw ArchiveError.containersMissing(report.missingContainers)
        }
        for container in wanted {
            guard let place = place(of: container) else { continue }
            progress(container.title)
            var importing = ContainerImport(
                container, of: reader, connection: account.connection(to: place), report: report)
            do {
                try await importing.run()
            } catch CallFailure.refused(let failure) where failure.code == .quotaExceeded {
                throw ArchiveError.quotaExceeded(
                    container: container.title, imported: importing.report.created + importing.report.updated)
            } catch {
                throw ArchiveError(error, container: container.title)
            }
            report = importing.report
        }
        return report
    }
}
