import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Completes index builds that were interrupted, and does those that wait.
package struct FinishIndexBuilds: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Completes what a change of a schema, or a save with new fields, was interrupted in. To be called when a cloud starts.
    package func run() async throws {
        for place in try await cloud.registry.containers() { try await BuildIndexes(cloud).run(in: place) }
    }

    /// Does the builds that operations of this process have left for later.
    ///
    /// - Returns: Whether there were any.
    @discardableResult
    package func runWaiting() async throws -> Bool {
        guard let place = cloud.indexBuilds.next() else { return false }
        do {
            try await BuildIndexes(cloud).run(in: place)
        } catch {
            cloud.indexBuilds.add(place)
            throw error
        }
        return true
    }

    /// Does the builds that another process left unfinished when it died.
    package func runAbandoned() async throws {
        for name in cloud.nodes.takeAbandoned() {
            guard let place = ContainerEnvironment(leaseName: name) else { continue }
            try await BuildIndexes(cloud).run(in: place)
            // Also where nothing was left to be done: the lease of the dead goes.
            try await cloud.nodes.exclusively(name) { _ in }
        }
    }

    /// Does the builds of one container and environment.
    ///
    /// - Parameter progress: Is called after each step.
    package func run(
        in container: ContainerID, _ environment: Environment,
        progress: @Sendable (IndexBuildProgress) -> Void = { _ in }
    ) async throws {
        try await BuildIndexes(cloud).run(
            in: ContainerEnvironment(container: container, environment: environment), progress: progress)
    }
}
