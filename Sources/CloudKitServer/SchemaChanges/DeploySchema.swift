import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Copies the schema of a container from development to production.
package struct DeploySchema: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Copies roles, record types, their fields, indexes and grants from development to production, never data and never taking
    /// types and fields away (B-SCH-04). New indexes are built afterwards.
    ///
    /// - Parameters:
    ///   - force: Whether to deploy although apps could notice.
    ///   - waits: Whether to build the indexes before returning; otherwise the cloud's worker does so.
    ///   - progress: Is called after each step of building.
    /// - Returns: The report on what was done.
    /// - Throws: `schemaMismatch` for a deployment that production cannot follow, or that needs `force`.
    @discardableResult
    package func run(
        of container: ContainerID, force: Bool = false, waits: Bool = true,
        progress: @Sendable (IndexBuildProgress) -> Void = { _ in }
    ) async throws -> DeploymentReport {
        let before = try await cloud.schema(container, .production)
        let report = try await report(on: container)
        guard !report.isRefused else { throw Self.refused(report, .conflict, "production cannot follow", remedy: nil) }
        guard report.isSafe || force else {
            throw Self.refused(
                report, .risk, "apps could notice this deployment",
                remedy: "Look at: welkin schema lint \(container.name); then deploy with --force.")
        }
        let development = try await cloud.schema(container, .development).document
        let schema = try await cloud.schemas.change(.schema(container, .production)) { schema in
            schema.adopt(development.deployed(to: schema.document))
        }
        let place = ContainerEnvironment(container: container, environment: .production)
        guard waits else {
            cloud.indexBuilds.add(place)
            return report
        }
        try await BuildIndexes(cloud).run(
            in: place, dropped: DroppedIndexes.between(before, schema), progress: progress)
        return report
    }

    /// Reports on the deployment without doing it.
    package func report(on container: ContainerID) async throws -> DeploymentReport {
        DeploymentReport(
            of: try await cloud.schema(container, .development).document,
            to: try await cloud.schema(container, .production).document,
            served: try await cloud.servedRequests.served(container, .development),
            inProduction: try await cloud.servedRequests.served(container, .production))
    }

    private static func refused(
        _ report: DeploymentReport, _ kind: DeploymentReport.Finding.Kind, _ reason: String, remedy: String?
    ) -> RequestFailure {
        let texts = report.findings.filter { $0.kind == kind }.map(\.text)
        let shown = texts.prefix(findingsShown).joined(separator: "; ")
        let more = texts.count > findingsShown ? "; and \(texts.count - findingsShown) more" : ""
        return RequestFailure(.schemaMismatch, "\(reason): \(shown)\(more)", remedy: remedy)
    }

    private static let findingsShown = 10
}
