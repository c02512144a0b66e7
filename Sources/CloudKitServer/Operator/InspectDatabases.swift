import CloudKitModel
import CloudKitRecordLayer

/// A user's private database as operators see it.
package struct DatabaseSummary: Hashable, Sendable {
    /// The user.
    package var user: UserID
    /// The number of records.
    package var recordCount: UInt64
    /// Stored bytes of the records.
    package var recordBytes: UInt64
    /// Live custom zones.
    package var zoneCount: UInt32
}

/// A zone as operators see it.
package struct ZoneSummary: Hashable, Sendable {
    /// The states of a zone.
    package enum State: String, Hashable, Sendable {
        case live, deleted, purged, keysReset
    }

    /// The name.
    package var name: String
    /// The state.
    package var state: State
    /// The beginning of the state, in milliseconds since 1970; 0 for a default zone that was never written to.
    package var since: Int64
    /// The number of records.
    package var recordCount: UInt64
    /// Stored bytes of the records.
    package var recordBytes: UInt64
    /// The epoch of the zone's key.
    package var keyEpoch: UInt32
    /// Whether the zone has one key for all its records.
    package var encryptionScope: ZoneEncryptionScope
    /// Shared trees in the zone.
    package var sharedTrees: UInt32
    /// Whether the zone is shared as a whole.
    package var isShared: Bool
    /// The token of the newest change; nil for a zone without a feed.
    package var syncToken: String?
}

/// A record without its values.
package struct RecordOutline: Hashable, Sendable {
    /// A field without its value.
    package struct Field: Hashable, Sendable {
        /// The name.
        package var name: String
        /// The type.
        package var type: FieldType
        /// Bytes of the stored value.
        package var bytes: Int
    }

    /// The name of the record.
    package var name: String
    /// The record type.
    package var recordType: String
    /// The change tag.
    package var changeTag: ChangeTag
    /// The creation.
    package var created: Stamp
    /// The last modification.
    package var modified: Stamp
    /// The name of the parent record.
    package var parent: String?
    /// The name of the share's record.
    package var share: String?
    /// Bytes it takes in the store.
    package var storedBytes: Int
    /// The epoch of the key of its sealed values; nil where it has none.
    package var keyEpoch: UInt32?
    /// The fields, by name.
    package var fields: [Field]

    init(_ record: StoredRecord) throws {
        name = record.name
        recordType = record.recordType
        changeTag = record.changeTag
        created = record.created
        modified = record.modified
        parent = record.parent
        share = record.share
        storedBytes = record.storedBytes
        keyEpoch = record.protection?.epoch
        fields = try record.fields().map { Field(name: $0.name, type: $0.type, bytes: $0.json.count) }
    }
}

/// One change of a zone's feed, without values.
package struct FeedOutline: Hashable, Sendable {
    /// The name of the record.
    package var recordName: String
    /// The record type.
    package var recordType: String
    /// Whether the record was deleted.
    package var isDeleted: Bool
    /// Bytes of the stored record.
    package var bytes: Int
    /// The change tag that the feed has.
    package var changeTag: ChangeTag
    /// The token of a device that knows of this change and of none after it.
    package var syncToken: String
}

/// Shows operators the structure of databases: names, types, counts, sizes and attributes of the system, never values of fields.
package struct InspectDatabases: Sendable {
    private let cloud: Cloud
    private let container: ContainerID
    private let environment: Environment

    /// Creates the operation on a container and environment.
    package init(_ cloud: Cloud, _ container: ContainerID, _ environment: Environment) {
        self.cloud = cloud
        self.container = container
        self.environment = environment
    }

    /// Returns up to `limit` private databases, after that of a user, in the order of the users' names.
    package func privateDatabases(after user: UserID?, limit: Int) async throws -> [DatabaseSummary] {
        let prefix = StoragePartition.privateDatabases(container, environment)
        let partitions = try await cloud.store.read(.registry) { view in
            try await view.knownPartitions(
                prefix: prefix, after: user.map { prefix + $0.recordName }, limit: limit)
        }
        var found: [DatabaseSummary] = []
        for partition in partitions {
            let header = try await cloud.store.read(partition) { try await $0.databaseHeader() }
            found.append(
                DatabaseSummary(
                    user: UserID(String(partition.name.dropFirst(prefix.count))), recordCount: header.recordCount,
                    recordBytes: header.recordBytes, zoneCount: header.zoneCount))
        }
        return found
    }

    /// Returns up to `limit` zones of a user's private database, after one, in the order of their names; those that were deleted too.
    ///
    /// - Parameter user: nil for the public database.
    package func zones(of user: UserID?, after name: String?, limit: Int) async throws -> [ZoneSummary] {
        let partition = try partition(user)
        let zones = try await cloud.store.read(partition) { view in
            var zones = try await view.zones(after: name, limit: limit)
            // The default zone is there before it is stored, and may lie on a later page then.
            if name == nil, try await view.zone(named: ZoneID.defaultZoneName) == .implicitDefault {
                zones.insert(.implicitDefault, at: 0)
            }
            return zones.prefix(limit)
        }
        return zones.map { summary($0, partition) }
    }

    /// Returns a zone.
    ///
    /// - Throws: `zoneNotFound`.
    package func zone(_ name: String, of user: UserID?) async throws -> ZoneSummary {
        let partition = try partition(user)
        guard let zone = try await cloud.store.read(partition, { try await $0.zone(named: name) }) else {
            throw RequestFailure.zoneNotFound
        }
        return summary(zone, partition)
    }

    /// Returns up to `limit` records of a zone, after one, in the order of their names; and the name after which the next follow, nil at
    /// the end.
    ///
    /// - Throws: `zoneNotFound`.
    package func records(
        inZone zoneName: String, of user: UserID?, after name: String?, limit: Int
    ) async throws -> (records: [RecordOutline], next: String?) {
        let stored = try await cloud.store.read(try partition(user)) { view in
            guard let zone = try await view.zone(named: zoneName) else { throw RequestFailure.zoneNotFound }
            return try await view.records(zone: zone.number, after: name, limit: limit)
        }
        let records = try stored.filter { !$0.isTombstone }.map { try RecordOutline($0) }
        return (records, stored.count < limit ? nil : stored.last?.name)
    }

    /// Returns a record.
    ///
    /// - Throws: `zoneNotFound`, `itemNotFound`.
    package func record(_ name: String, inZone zoneName: String, of user: UserID?) async throws -> RecordOutline {
        let stored = try await cloud.store.read(try partition(user)) { view in
            guard let zone = try await view.zone(named: zoneName) else { throw RequestFailure.zoneNotFound }
            return try await view.records(zone: zone.number, names: [name])[0]
        }
        guard let stored, !stored.isTombstone else { throw RequestFailure.recordNotFound }
        return try RecordOutline(stored)
    }

    /// Returns up to `limit` changes of a zone after a token, oldest first, and the token that follows them.
    ///
    /// - Parameter token: A server change token of the zone, as devices have them; nil for the beginning.
    /// - Throws: `zoneNotFound`; `badRequest` for what is no token of this zone; `changeTokenExpired`.
    package func changes(
        inZone zoneName: String, of user: UserID, after token: String?, limit: Int
    ) async throws -> (changes: [FeedOutline], next: String, moreComing: Bool) {
        let partition = try partition(user)
        let tokens = cloud.tokens
        let opened = try token.map { try tokens.open($0, for: partition, kinds: [.zone]) }
        return try await cloud.store.read(partition) { view in
            let zone = try ZoneAccess.live(try await view.zone(named: zoneName))
            guard zone.isCustom else { throw RequestFailure.noFeed(for: .native) }
            let start: UInt64
            let baseline: UInt64
            switch FeedPosition(token: opened, zone: zone, isReversed: false) {
            case .refuse(let failure): throw failure
            case .forward(let version, let known): (start, baseline) = (version, known)
            case .caughtUp, .backward: (start, baseline) = (zone.latestVersion, 0)
            }
            let entries = try await view.feed(zone: zone.number, after: start, limit: limit + 1)
            func sealed(_ version: UInt64) -> String {
                tokens.seal(SyncToken(.zone, zone: zone.number, version: version, baseline: baseline), for: partition)
            }
            let shown = entries.prefix(limit)
            let changes = shown.map { entry in
                FeedOutline(
                    recordName: entry.recordName, recordType: entry.recordType, isDeleted: entry.isTombstone,
                    bytes: entry.size, changeTag: ChangeTag(version: entry.version), syncToken: sealed(entry.version))
            }
            let moreComing = entries.count > limit
            let reached = moreComing ? shown.last?.version ?? start : max(start, zone.latestVersion)
            return (Array(changes), sealed(reached), moreComing)
        }
    }

    /// Returns the shares of a zone, as their owner sees them, each with the name of its record.
    ///
    /// - Throws: `zoneNotFound`.
    package func shares(inZone zoneName: String, of user: UserID) async throws -> [(name: String, share: Share)] {
        let stored = try await cloud.store.read(try partition(user)) { view in
            guard let zone = try await view.zone(named: zoneName) else { throw RequestFailure.zoneNotFound }
            return try await view.shares(zone: zone.number)
        }
        var shares: [(name: String, share: Share)] = []
        for entry in stored {
            var share = ShareView(owner: user, viewer: user).share(entry)
            try await cloud.userDirectory.addIdentities(to: &share)
            shares.append((entry.name, share))
        }
        return shares
    }

    /// Returns the subscriptions of a user in one of the databases.
    package func subscriptions(of user: UserID, in scope: DatabaseScope) async throws -> [Subscription] {
        let partition = try scope == .public ? partition(nil) : partition(user)
        return try await cloud.store.read(partition) { try await $0.subscriptions(of: user, in: scope) }
    }

    private func summary(_ zone: ZoneHeader, _ partition: StoragePartition) -> ZoneSummary {
        let state: ZoneSummary.State =
            switch zone.state {
            case .live: .live
            case .deleted: .deleted
            case .purged: .purged
            case .keysReset: .keysReset
            }
        return ZoneSummary(
            name: zone.name, state: state, since: zone.since, recordCount: zone.recordCount,
            recordBytes: zone.recordBytes, keyEpoch: zone.keyEpoch, encryptionScope: zone.encryptionScope,
            sharedTrees: zone.sharing.treeCount, isShared: zone.sharing.wholeShare != nil,
            syncToken: zone.isCustom && state == .live
                ? cloud.tokens.seal(.zone(zone.number, at: zone.latestVersion), for: partition) : nil)
    }

    private func partition(_ user: UserID?) throws(RequestFailure) -> StoragePartition {
        guard let user else { return .publicDatabase(container, environment) }
        guard UserID.isPlain(user) else { throw RequestFailure(.itemNotFound, "there is no such user") }
        return .privateDatabase(container, environment, of: user)
    }
}
