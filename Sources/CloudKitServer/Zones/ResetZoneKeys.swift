import CloudKitAccounts
import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Removes or renews the zones of a user whose keys were lost (B-ZN-12).
struct ResetZoneKeys: Sendable {
    let cloud: Cloud

    init(_ cloud: Cloud) { self.cloud = cloud }

    /// Removes every custom zone that may hold values sealed under lost keys (B-ZN-12), and begins a key epoch in the
    /// default zone; where the schema has nothing that is sealed, zones stay and start with new keys.
    ///
    /// - Parameters:
    ///   - reset: Of the user's keychain; steps that are no longer due are skipped; nil: an operator's order.
    ///   - generation: Of the user's keys since that reset.
    /// - Returns: The number of zones concerned.
    @discardableResult
    func run(
        ofZonesOf user: UserID, in container: ContainerID, _ environment: Environment, for reset: KeyReset? = nil,
        generation: Int = 0
    ) async throws -> Int {
        let partition = StoragePartition.privateDatabase(container, environment, of: user)
        guard let place = DatabaseContext(partition: partition) else { return 0 }
        if let reset { try await note(generation, since: reset, in: partition) }
        let schema = try await cloud.schemas.current(.schema(container, environment))
        guard schema.hasSealedValues else { return try await RenewZoneKeys(cloud).run(in: place, for: reset) }
        let now = cloud.serverEnvironment.now()
        try await cloud.registry.renewWorkPromise(in: partition, now: now)
        return try await cloud.writeNotifying([partition, cloud.accountStore.partition]) { transaction, buffer in
            guard try await cloud.isDue(reset, transaction) else { return 0 }
            let zones = try await transaction.zones(limit: .max).filter { $0.state == .live && $0.recordCount > 0 }
            guard !zones.isEmpty else { return 0 }
            var writer = ZoneWriter(header: try await transaction.databaseHeader(), now: now)
            for var zone in zones {
                if zone.isCustom {
                    try await writer.end(&zone, as: .keysReset, in: &transaction)
                } else {
                    // One record cannot hold both old and new sealed values.
                    zone.beginKeyEpoch()
                    transaction.set(zone)
                }
            }
            let pendingNotifications = NotificationWriter(
                place: place, schema: .ofTheSystem, limits: cloud.limits, now: now, buffer: buffer)
            try await writer.writeNotifications(pendingNotifications, &transaction)
            if writer.isChanged { transaction.set(writer.header) }
            return zones.count
        }
    }

    /// Notes the generation of keys of which a device must be that changes the database from now on.
    private func note(_ generation: Int, since reset: KeyReset, in partition: StoragePartition) async throws {
        let generation = UInt32(clamping: generation)
        try await cloud.registry.enter(partition)
        try await cloud.store.write([partition, cloud.accountStore.partition]) { transaction in
            var header = try await transaction.databaseHeader()
            guard header.keychainGeneration < generation, try await cloud.isDue(reset, transaction) else { return }
            header.keychainGeneration = generation
            transaction.set(header)
        }
    }
}
