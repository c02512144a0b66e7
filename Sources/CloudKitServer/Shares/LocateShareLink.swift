import CloudKitModel
import CloudKitRecordLayer

/// Finds the container and environment of a link.
package struct LocateShareLink: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Returns the container and environment of a link, for any holder: the client resolves it there.
    package func run(_ shortGUID: String) async throws -> (ContainerID, Environment)? {
        let link = try await cloud.store.read(.shareDirectory) { try await $0.shareLocation(shortGUID: shortGUID) }
        return link.map { ($0.container, $0.environment) }
    }
}
