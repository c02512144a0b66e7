import CloudKitModel
import CloudKitRecordLayer

extension Cloud {
    /// Forgets old deletions of a zone's records, and so tokens from before them (B-BKD-12).
    ///
    /// - Parameter cutoff: Milliseconds since 1970; deletions before it are forgotten.
    /// - Returns: How many were forgotten.
    @discardableResult
    package func forgetDeletions(
        before cutoff: Int64, inZone name: String, of user: UserID, in container: ContainerID,
        _ environment: Environment
    ) async throws -> Int {
        let partition = StoragePartition.privateDatabase(container, environment, of: user)
        var forgotten = 0
        var position: UInt64? = 0
        while let version = position {
            let step = try await store.write(partition) { transaction in
                try await Self.forgetDeletions(before: cutoff, inZone: name, after: version, &transaction)
            }
            forgotten += step.count
            position = step.next
        }
        return forgotten
    }

    /// One short transaction of it; `next` is nil at the end.
    private static func forgetDeletions(
        before cutoff: Int64, inZone name: String, after version: UInt64, _ transaction: inout StorageWriter
    ) async throws -> (count: Int, next: UInt64?) {
        let limit = 500
        var zone = try ZoneAccess.live(try await transaction.zone(named: name))
        let entries = try await transaction.feed(zone: zone.number, after: version, limit: limit)
        let deletions = entries.filter(\.isTombstone)
        let records = try await transaction.records(zone: zone.number, names: deletions.map(\.recordName))
        var count = 0
        for (entry, record) in zip(deletions, records) {
            guard let record, record.isTombstone, record.modified.timestamp < cutoff else { continue }
            transaction.clearFeedEntry(zone: zone.number, version: entry.version)
            transaction.clearRecord(zone: zone.number, name: entry.recordName)
            zone.horizon = max(zone.horizon, entry.version)
            count += 1
        }
        if count > 0 { transaction.set(zone) }
        return (count, entries.count < limit ? nil : entries.last?.version)
    }

    /// Forgets zones deleted long ago, and so database tokens from before that.
    ///
    /// - Parameter cutoff: Milliseconds since 1970.
    package func forgetDeletedZones(
        before cutoff: Int64, of user: UserID, in container: ContainerID, _ environment: Environment
    ) async throws {
        let partition = StoragePartition.privateDatabase(container, environment, of: user)
        try await store.write(partition) { transaction in
            var header = try await transaction.databaseHeader()
            for var zone in try await transaction.zones(limit: .max) {
                guard case .deleted = zone.state, zone.since < cutoff else { continue }
                header.horizon = max(header.horizon, zone.feedVersion)
                header.keyEpochFloor = max(header.keyEpochFloor, zone.keyEpoch)
                transaction.removeFromDatabaseFeed(&zone)
                transaction.clearZone(named: zone.name)
            }
            transaction.set(header)
        }
    }

    /// Makes every token of a zone's feed that was given out so far too old (B-CHG-09), as compaction does in the long run.
    package func expireTokens(
        ofZone name: String, of user: UserID, in container: ContainerID, _ environment: Environment
    ) async throws {
        let partition = StoragePartition.privateDatabase(container, environment, of: user)
        try await store.write(partition) { transaction in
            var header = try await transaction.databaseHeader()
            var zone = try ZoneAccess.live(try await transaction.zone(named: name))
            zone.latestVersion = header.takeVersions(1)
            zone.horizon = zone.latestVersion
            transaction.set(zone)
            transaction.set(header)
        }
    }

    /// Makes every token of a user's database feed that was given out so far too old.
    package func expireDatabaseTokens(
        of user: UserID, in container: ContainerID, _ environment: Environment
    ) async throws {
        let partition = StoragePartition.privateDatabase(container, environment, of: user)
        try await store.write(partition) { transaction in
            var header = try await transaction.databaseHeader()
            header.horizon = header.takeVersions(1)
            transaction.set(header)
        }
    }
}
