import CloudKitModel
import CloudKitRecordLayer

/// Finds the container and environment of a link.
package struct LocateShareLink: Sendable {
    private let cloud: Cloud

    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// The container and environment that a link belongs to, for whoever holds it: it says where to ask.
    package func run(_ shortGUID: String) async throws -> (ContainerID, Environment)? {
        let link = try await cloud.store.read(.shareDirectory) { try await $0.sharePlace(shortGUID: shortGUID) }
        return link.map { ($0.container, $0.environment) }
    }
}
