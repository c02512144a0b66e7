import CloudKitModel
import OrderedStore

/// To which tree a record belongs, and where it stands in the feed of that tree's share.
///
/// Records of a zone that is shared as a whole have none: the zone's own feed is theirs.
package struct ShareMembership: Hashable, Sendable {
    /// The number of the share.
    package var share: UInt64
    /// The version of the record's entry in the share's feed.
    package var version: UInt64

    /// Creates a value with the given properties.
    package init(share: UInt64, version: UInt64) {
        self.share = share
        self.version = version
    }

    static func key(zone: UInt32, recordName: String) -> Bytes {
        KeyBuilder(.shareMembership, zone: zone).adding(recordName).bytes
    }

    init(decoding bytes: Bytes) throws {
        var value = ValueReader(bytes, of: .shareMembership)
        self.init(share: try value.number(), version: try value.number())
    }

    var encoded: Bytes {
        var value = ValueWriter(capacity: 16)
        value.add(share)
        value.add(version)
        return value.bytes
    }
}

/// The feed of one tree: an entry a record, moved at each change, as the zone's feed; it also says who entered and who left
/// (B-SHF-06). Members read it instead of the zone's, so that its cost is that of its results.
extension Reading {
    /// The memberships of records, in their order; nil where a record belongs to no tree.
    package func shareMemberships(zone: UInt32, recordNames: [String]) async throws -> [ShareMembership?] {
        let values = try await get(recordNames.map { ShareMembership.key(zone: zone, recordName: $0) })
        return try values.map { try $0.map(ShareMembership.init(decoding:)) }
    }

    /// Up to `limit` entries after a version and up to another, oldest change first.
    package func shareFeed(
        zone: UInt32, share: UInt64, after version: UInt64, through last: UInt64 = .max, limit: Int
    ) async throws -> [FeedEntry] {
        var range = KeyRange(prefix: KeyBuilder(.shareFeed, zone: zone).adding(share).bytes)
        range.lower = ShareFeedKey.bytes(zone: zone, share: share, version: version + 1)
        if last != .max { range.upper = ShareFeedKey.bytes(zone: zone, share: share, version: last + 1) }
        return try await scan(range, limit: limit).map(ShareFeedKey.entry)
    }

    /// The entry of a share's feed at a version; nil if there is none.
    func shareFeedEntry(zone: UInt32, share: UInt64, version: UInt64) async throws -> FeedEntry? {
        try await get(ShareFeedKey.bytes(zone: zone, share: share, version: version))
            .map { try FeedEntry(version: version, value: $0) }
    }

    /// The version of the newest entry; 0 if there is none.
    package func latestShareVersion(zone: UInt32, share: UInt64) async throws -> UInt64 {
        let range = KeyRange(prefix: KeyBuilder(.shareFeed, zone: zone).adding(share).bytes)
        return try await scan(range, limit: 1, reverse: true).first.map(ShareFeedKey.entry)?.version ?? 0
    }

    /// Returns the positions in a share's feed at which records left, in their order.
    package func shareLeavings(zone: UInt32, share: UInt64, recordNames: [String]) async throws -> [ShareLeaving?] {
        let values = try await get(
            recordNames.map { ShareFeedKey.leaving(zone: zone, share: share, recordName: $0) })
        return try values.map { try $0.map(ShareLeaving.init(decoding:)) }
    }

    /// Up to `limit` records of a zone that left trees, after a key: in no order of time.
    package func shareLeavings(
        zone: UInt32, after cursor: ShareLeavingCursor?, limit: Int
    ) async throws -> [(cursor: ShareLeavingCursor, leaving: ShareLeaving)] {
        var range = KeyRange(prefix: KeyBuilder(.shareLeaving, zone: zone).bytes)
        if let cursor {
            range.lower =
                ShareFeedKey.leaving(zone: zone, share: cursor.share, recordName: cursor.recordName) + [0]
        }
        return try await scan(range, limit: limit).map { entry in
            var key = KeyReader(entry.key, in: .shareLeaving)
            try key.skip()
            let share = try key.readVersion()
            return (
                ShareLeavingCursor(share: share, recordName: try key.readString()),
                try ShareLeaving(decoding: entry.value)
            )
        }
    }

    /// The first version after another at which members of a zone lost records.
    package func shareLossVersion(zone: UInt32, after version: UInt64) async throws -> UInt64? {
        let prefix = KeyBuilder(.shareLoss, zone: zone)
        var range = KeyRange(prefix: prefix.bytes)
        range.lower = prefix.adding(version + 1).bytes
        return try await scan(range, limit: 1).first.map { entry in
            var key = KeyReader(entry.key, in: .shareLoss)
            try key.skip()
            return try key.readVersion()
        }
    }

    /// Up to `limit` records that members lost at a version, after a position.
    package func shareLosses(
        zone: UInt32, at version: UInt64, after position: UInt64, limit: Int
    ) async throws -> [ShareLoss] {
        let prefix = KeyBuilder(.shareLoss, zone: zone).adding(version)
        var range = KeyRange(prefix: prefix.bytes)
        range.lower = prefix.adding(position + 1).bytes
        return try await scan(range, limit: limit).map(ShareLoss.init)
    }
}

/// Which record left which tree.
package struct ShareLeavingCursor: Hashable, Sendable {
    /// The number of the share.
    package var share: UInt64
    /// The name of the record.
    package var recordName: String
}

/// The departure of a record from a tree, or its deletion in it.
package struct ShareLeaving: Hashable, Sendable {
    /// The version of the feed's entry.
    package var version: UInt64
    /// Milliseconds since 1970.
    package var timestamp: Int64

    /// Creates a value with the given properties.
    package init(version: UInt64, timestamp: Int64) {
        self.version = version
        self.timestamp = timestamp
    }

    init(decoding bytes: Bytes) throws {
        var value = ValueReader(bytes, of: .shareLeaving)
        self.init(version: try value.number(), timestamp: try value.number())
    }
}

/// A record that a user can no longer see after the loss of a participant slot.
package struct ShareLoss: Hashable, Sendable {
    /// From 1 on.
    package var position: UInt64
    /// The name of the record.
    package var recordName: String
    /// The record type.
    package var recordType: String

    /// Creates a value with the given properties.
    package init(position: UInt64, recordName: String, recordType: String) {
        self.position = position
        self.recordName = recordName
        self.recordType = recordType
    }

    init(_ entry: Entry) throws {
        var key = KeyReader(entry.key, in: .shareLoss)
        try key.skip()
        try key.skip()
        var value = ValueReader(entry.value, of: .shareLoss)
        self.init(position: try key.readVersion(), recordName: try value.text(), recordType: try value.text())
    }
}

private enum ShareFeedKey {
    static func bytes(zone: UInt32, share: UInt64, version: UInt64) -> Bytes {
        KeyBuilder(.shareFeed, zone: zone, capacity: 22).adding(share).adding(version).bytes
    }

    static func leaving(zone: UInt32, share: UInt64, recordName: String) -> Bytes {
        KeyBuilder(.shareLeaving, zone: zone).adding(share).adding(recordName).bytes
    }

    static func entry(_ entry: Entry) throws -> FeedEntry {
        var key = KeyReader(entry.key, in: .shareFeed)
        try key.skip()
        try key.skip()
        return try FeedEntry(version: key.readVersion(), value: entry.value)
    }
}

extension WriteTransaction {
    /// Moves a record within its tree's feed, or lets it enter; `previous` is where it stood in this feed.
    package mutating func moveInShareFeed(
        _ entry: FeedEntry, zone: UInt32, share: UInt64, previous: ShareMembership?, leaving: ShareLeaving? = nil
    ) {
        if let previous, previous.share == share {
            clear(ShareFeedKey.bytes(zone: zone, share: share, version: previous.version))
        }
        if let leaving {
            clear(ShareFeedKey.bytes(zone: zone, share: share, version: leaving.version))
            clear(ShareFeedKey.leaving(zone: zone, share: share, recordName: entry.recordName))
        }
        set(ShareFeedKey.bytes(zone: zone, share: share, version: entry.version), entry.value)
        set(
            ShareMembership.key(zone: zone, recordName: entry.recordName),
            ShareMembership(share: share, version: entry.version).encoded)
    }

    /// Removes a record from its tree: members of the share see it at `version`.
    package mutating func leaveShareFeed(
        _ recordName: String, recordType: String, zone: UInt32, from membership: ShareMembership, version: UInt64,
        now: Int64
    ) {
        let share = membership.share
        clear(ShareFeedKey.bytes(zone: zone, share: share, version: membership.version))
        clear(ShareMembership.key(zone: zone, recordName: recordName))
        let entry = FeedEntry(
            version: version, recordName: recordName, recordType: recordType, isTombstone: true, size: 0)
        set(ShareFeedKey.bytes(zone: zone, share: share, version: version), entry.value)
        var value = ValueWriter(capacity: 16)
        value.add(version)
        value.add(now)
        set(ShareFeedKey.leaving(zone: zone, share: share, recordName: recordName), value.bytes)
    }

    /// Forgets that a record left a tree.
    package mutating func forget(_ leaving: ShareLeaving, of record: ShareLeavingCursor, zone: UInt32) {
        clear(ShareFeedKey.bytes(zone: zone, share: record.share, version: leaving.version))
        clear(ShareFeedKey.leaving(zone: zone, share: record.share, recordName: record.recordName))
    }

    /// Forgets what members of a zone lost at a version.
    package mutating func clearShareLosses(zone: UInt32, at version: UInt64) {
        clear(KeyRange(prefix: KeyBuilder(.shareLoss, zone: zone).adding(version).bytes))
    }

    /// Removes a record's membership in a tree.
    package mutating func clearShareMembership(zone: UInt32, recordName: String) {
        clear(ShareMembership.key(zone: zone, recordName: recordName))
    }

    /// Writes a loss.
    package mutating func set(_ loss: ShareLoss, zone: UInt32, at version: UInt64) {
        var value = ValueWriter()
        value.add(loss.recordName)
        value.add(loss.recordType)
        set(KeyBuilder(.shareLoss, zone: zone).adding(version).adding(loss.position).bytes, value.bytes)
    }
}
