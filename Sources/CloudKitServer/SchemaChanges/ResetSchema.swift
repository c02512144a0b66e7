import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Puts the development environment of a container back to its production schema.
package struct ResetSchema: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Deletes the records and zones of development and gives it the schema of production (B-SCH-05); in a container that was
    /// never deployed no record type stays but that of users. User records stay, and so do subscriptions.
    ///
    /// Devices learn of it from their feeds: custom zones are purged, records of the default zones deleted. A call that was
    /// interrupted can be repeated.
    package func run(of container: ContainerID) async throws {
        let schema = try await cloud.schema(container, .development)
        for partition in try await cloud.registry.databases(of: container, .development) {
            guard let place = DatabaseContext(partition: partition), place.scope == .private else { continue }
            let zones = try await cloud.store.read(partition) { try await $0.zones(limit: .max) }
            for zone in zones where zone.state == .live && zone.isCustom {
                try await EndZone(cloud).purge(zone.name, of: place.owner, in: container, .development)
            }
        }
        for name in schema.types.keys.sorted() where name != RecordTypeDefinition.usersName {
            try await DeleteStoredRecords(cloud).run(ofType: name, withAnyOf: nil, in: container, .development)
        }
        let production = try await cloud.schema(container, .production)
        let before = try await cloud.schema(container, .development)
        let now = try await cloud.schemas.change(.schema(container, .development)) { schema in
            schema.adopt(production.document)
        }
        try await cloud.servedRequests.forget(container, .development)
        try await BuildIndexes(cloud).run(
            in: ContainerEnvironment(container: container, environment: .development),
            dropped: DroppedIndexes.between(before, now))
    }
}
