import CloudKitModel
import CloudKitRecordLayer

/// The numbers of entries that compaction deleted.
package struct FeedCompaction: Hashable, Sendable {
    /// Deletions of records.
    package var deletions = 0
    /// Records that left shared trees, or were lost with a share.
    package var leavings = 0
    /// Zones, a user's own and those of others.
    package var zones = 0

    /// Creates the numbers of a run that deleted nothing.
    package init() {}

    /// A flag for runs that deleted nothing.
    package var isEmpty: Bool { self == FeedCompaction() }

    /// Adds the numbers of another run.
    package mutating func add(_ other: FeedCompaction) {
        deletions += other.deletions
        leavings += other.leavings
        zones += other.zones
    }
}

/// Removes old deletions from the feeds of a private database (B-BKD-12).
package struct CompactFeeds: Sendable {
    let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Returns up to `limit` private databases after one, in the order of compaction.
    package func databases(after partition: StoragePartition?, limit: Int) async throws -> [StoragePartition] {
        try await cloud.store.read(.registry) { try await $0.knownPrivateDatabases(after: partition, limit: limit) }
    }

    /// Removes old deletions from the feeds of a private database, so that feeds do not grow without bound (B-BKD-12).
    /// Tokens from before the removed entries expire (B-CHG-09); all others stay valid.
    ///
    /// Reads in small pieces and writes only where there is something to remove, in short transactions.
    ///
    /// - Parameter cutoff: Milliseconds since 1970; deletions before it are removed.
    package func run(of partition: StoragePartition, before cutoff: Int64) async throws -> FeedCompaction {
        var compaction = FeedCompaction()
        compaction.zones += try await forgetDeletedZones(before: cutoff, in: partition)
        compaction.zones += try await forgetGoneZones(before: cutoff, in: partition)
        let zones = try await cloud.store.read(partition) { try await $0.zones(limit: .max) }
        for zone in zones where zone.isCustom && zone.state == .live {
            compaction.add(try await compactFeeds(of: zone, before: cutoff, in: partition))
        }
        return compaction
    }

    /// Forgets old deletions of one zone, for its owner and for those with whom it is shared.
    ///
    /// - Parameter cutoff: Milliseconds since 1970.
    /// - Returns: How many deletions of records were forgotten.
    @discardableResult
    package func forgetDeletions(
        before cutoff: Int64, inZone name: String, of user: UserID, in container: ContainerID,
        _ environment: Environment
    ) async throws -> Int {
        let partition = StoragePartition.privateDatabase(container, environment, of: user)
        let zone = try ZoneAccess.live(try await cloud.store.read(partition) { try await $0.zone(named: name) })
        return try await compactFeeds(of: zone, before: cutoff, in: partition).deletions
    }

    /// Forgets a user's zones that were deleted long ago, and so database tokens from before that.
    ///
    /// - Parameter cutoff: Milliseconds since 1970.
    package func forgetDeletedZones(
        before cutoff: Int64, of user: UserID, in container: ContainerID, _ environment: Environment
    ) async throws {
        _ = try await forgetDeletedZones(
            before: cutoff, in: .privateDatabase(container, environment, of: user))
    }

    private func compactFeeds(
        of zone: ZoneHeader, before cutoff: Int64, in partition: StoragePartition
    ) async throws -> FeedCompaction {
        var compaction = FeedCompaction()
        compaction.deletions += try await forgetDeletions(before: cutoff, in: zone, partition)
        compaction.leavings += try await forgetLeavings(before: cutoff, in: zone, partition)
        compaction.leavings += try await forgetLosses(before: cutoff, in: zone, partition)
        return compaction
    }

    static var entriesAtOnce: Int { 500 }

    /// Forgets old deletions of a zone's records.
    private func forgetDeletions(
        before cutoff: Int64, in zone: ZoneHeader, _ partition: StoragePartition
    ) async throws -> Int {
        var forgotten = 0
        var reached = zone.compacted
        while true {
            let step = try await cloud.store.read(partition) { [reached] view in
                try await ExpiredDeletions(of: zone.number, after: reached, before: cutoff, view)
            }
            reached = step.reached
            if !step.entries.isEmpty || (step.isLast && reached > zone.compacted) {
                forgotten += try await forget(step, of: zone, partition)
            }
            if step.isLast { return forgotten }
        }
    }

    private func forget(
        _ step: ExpiredDeletions, of zone: ZoneHeader, _ partition: StoragePartition
    ) async throws -> Int {
        try await cloud.store.write(partition) { transaction in
            guard var zone = try await transaction.current(zone) else { return 0 }
            let records = try await transaction.records(zone: zone.number, names: step.entries.map(\.recordName))
            var count = 0
            for (entry, record) in zip(step.entries, records) {
                // It may have come back meanwhile, and gone again.
                guard let record, record.isTombstone, record.feedVersion == entry.version else { continue }
                transaction.clearFeedEntry(zone: zone.number, version: entry.version)
                transaction.clearRecord(zone: zone.number, name: entry.recordName)
                zone.horizon = max(zone.horizon, entry.version)
                count += 1
            }
            zone.compacted = max(zone.compacted, step.reached)
            transaction.set(zone)
            return count
        }
    }

    /// Forgets zones deleted long ago, and so database tokens from before that.
    private func forgetDeletedZones(before cutoff: Int64, in partition: StoragePartition) async throws -> Int {
        @Sendable func isOld(_ zone: ZoneHeader) -> Bool {
            if case .deleted = zone.state { zone.since < cutoff } else { false }
        }
        let hasOld = try await cloud.store.read(partition) { try await $0.zones(limit: .max).contains(where: isOld) }
        guard hasOld else { return 0 }
        return try await cloud.store.write(partition) { transaction in
            var header = try await transaction.databaseHeader()
            var count = 0
            for var zone in try await transaction.zones(limit: .max) where isOld(zone) {
                header.horizon = max(header.horizon, zone.feedVersion)
                header.keyEpochFloor = max(header.keyEpochFloor, zone.keyEpoch)
                transaction.removeFromDatabaseFeed(&zone)
                transaction.clearZone(named: zone.name)
                count += 1
            }
            transaction.set(header)
            return count
        }
    }

    /// Forgets zones of others that went out of a user's reach long ago.
    private func forgetGoneZones(before cutoff: Int64, in partition: StoragePartition) async throws -> Int {
        @Sendable func isOld(_ zone: JoinedZone) -> Bool { zone.gone != nil && zone.goneSince < cutoff }
        let hasOld = try await cloud.store.read(partition) { try await $0.joinedZones().contains(where: isOld) }
        guard hasOld else { return 0 }
        return try await cloud.store.write(partition) { transaction in
            var header = try await transaction.joinedHeader()
            let old = try await transaction.joinedZones().filter(isOld)
            for zone in old { transaction.forget(zone, &header) }
            return old.count
        }
    }
}

/// Old deletions in one piece of a zone's feed.
private struct ExpiredDeletions: Sendable {
    private(set) var entries: [FeedEntry] = []
    /// The version up to which the feed holds no others.
    private(set) var reached: UInt64
    private(set) var isLast: Bool

    init(
        of zone: UInt32, after version: UInt64, before cutoff: Int64, _ view: StorageReader
    ) async throws {
        reached = version
        let limit = CompactFeeds.entriesAtOnce
        let read = try await view.feed(zone: zone, after: version, limit: limit)
        isLast = read.count < limit
        let deletions = read.filter(\.isTombstone)
        let records = try await view.records(zone: zone, names: deletions.map(\.recordName))
        for (entry, record) in zip(deletions, records) {
            // The feed is in the order of time: what follows is younger.
            guard let record, record.modified.timestamp < cutoff else {
                reached = entry.version - 1
                isLast = true
                return
            }
            entries.append(entry)
        }
        reached = read.last?.version ?? version
    }
}

extension StorageWriter {
    /// Returns the present state of a zone, if it is the same incarnation and alive.
    func current(_ zone: ZoneHeader) async throws -> ZoneHeader? {
        guard let held = try await self.zone(named: zone.name), held.number == zone.number, held.state == .live else {
            return nil
        }
        return held
    }
}
