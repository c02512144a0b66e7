import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Removes a zone on behalf of its owner, for the operator.
package struct EndZone: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Removes a zone with the app's data, as when the user does so in the settings (B-ZN-10): until a client deletes
    /// or saves the zone, every use of it fails with `zonePurged`.
    package func purge(
        _ name: String, of user: UserID, in container: ContainerID, _ environment: Environment
    ) async throws {
        try await end(name, of: user, in: container, environment, as: .purged)
    }

    /// Removes a zone the keys of which were lost (B-ZN-12).
    package func resetKeys(
        ofZone name: String, of user: UserID, in container: ContainerID, _ environment: Environment
    ) async throws {
        try await end(name, of: user, in: container, environment, as: .keysReset)
    }

    private func end(
        _ name: String, of user: UserID, in container: ContainerID, _ environment: Environment,
        as state: ZoneHeader.State
    ) async throws {
        let now = cloud.serverEnvironment.now()
        let partition = StoragePartition.privateDatabase(container, environment, of: user)
        guard let place = DatabaseContext(partition: partition) else { throw RequestFailure.zoneNotFound }
        try await cloud.registry.renewWorkPromise(in: partition, now: now)
        try await cloud.writeNotifying([partition]) { transaction, buffer in
            var zone = try ZoneAccess.live(try await transaction.zone(named: name))
            guard zone.isCustom else { throw RequestFailure(.badRequest, "The default zone cannot be deleted") }
            var writer = ZoneWriter(header: try await transaction.databaseHeader(), now: now)
            try await writer.end(&zone, as: state, in: &transaction)
            let pendingNotifications = NotificationWriter(
                place: place, schema: .ofTheSystem, limits: cloud.limits, now: now, buffer: buffer)
            try await writer.writeNotifications(pendingNotifications, &transaction)
            transaction.set(writer.header)
        }
    }
}
