import OrderedStore

/// The first byte of every key: what the rest of the key, and the value, mean.
///
/// A partition of a database holds those up to `joinedFeed`; the cloud's own books hold the rest. Values never change:
/// data is stored under them.
package enum Subspace: UInt8, Hashable, Sendable, CaseIterable {
    case databaseHeader = 0x01
    /// zone name → `ZoneHeader`
    case zone = 0x02
    /// version → `DatabaseFeedEntry`
    case databaseFeed = 0x03
    /// half-hour, identifier → `RememberedRequest`
    case rememberedRequest = 0x04
    /// → the newest half-hour with served requests
    case rememberedRequestPeriod = 0x05
    /// zone number, record name → `StoredRecord`
    case record = 0x10
    /// zone number, version → `FeedEntry`
    case feed = 0x11
    /// zone number, target, kind, holder → nothing
    case backReference = 0x12
    /// zone number, target → how many deleteSelf references point to it
    case ownerCount = 0x13
    /// zone number, device → `StoredZoneState`
    case zoneState = 0x14
    /// zone number → bytes of the assets that the zone's records hold
    case assetBytes = 0x15
    /// zone number, share record name → `StoredShare`
    case share = 0x18
    /// zone number, user → `ShareMember`
    case shareMember = 0x19
    /// zone number, record name → `ShareMembership`
    case shareMembership = 0x1A
    /// zone number, share number, version → `FeedEntry`
    case shareFeed = 0x1B
    /// zone number, share number, record name → where the share's feed says that it left
    case shareLeaving = 0x1C
    /// zone number, version, position → a record that members lost then
    case shareLoss = 0x1D
    /// zone number, share number, epoch, participant → opaque key bytes
    case shareKey = 0x1E
    /// zone number → short GUID of its zone-wide share, present or past
    case zoneShareGUID = 0x1F
    /// zone number, … (`IndexEntries`)
    case index = 0x20
    /// version → `CascadeJob`
    case outbox = 0x30
    /// file → `StoredAsset`
    case asset = 0x38
    /// file, zone number, record name, field name → nothing
    case assetReference = 0x39

    /// `JoinedHeader`, in a participant's own partition
    case joinedHeader = 0x3A
    /// owner, zone name → `JoinedZone`
    case joinedZone = 0x3B
    /// version → owner and zone name
    case joinedFeed = 0x3C
    /// database scope, user, subscription → `Subscription`
    case subscription = 0x31
    /// partition name → version of the newest notification that was delivered from there into this partition's queue
    case deliveredVersion = 0x3D
    /// record type, user, subscription → `Subscription`: those of the public database once more
    case subscribedType = 0x32
    /// version → `CrossPartitionNotification`: decided here, to be carried into its receiver's partition
    case crossPartitionNotification = 0x33
    /// → `NotificationQueueHeader`, of the user whose partition it is
    case notificationQueue = 0x34
    /// sequence → `QueuedNotification`
    case notification = 0x35
    /// collapse key → sequence of the only notification with it
    case notificationKey = 0x36
    /// hash of a token → `PushToken`
    case pushToken = 0x37

    /// record type → its definition, in the schema's partition
    case recordType = 0x40
    case schemaVersion = 0x41
    /// custom role → the users who have it, in the schema's partition
    case schemaRole = 0x42
    /// partition name → nothing, in the registry's partition
    case knownPartition = 0x50
    /// partition name → when it was last promised work, in the registry's partition
    case pendingOutbox = 0x51
    /// partition name → when a push service was last given an address for its user, in the registry's partition
    case pushedPartition = 0x52
    /// partition name → nothing: an address for its user is new, in the registry's partition
    case newlyPushedPartition = 0x53

    /// short GUID → `ShareLocation`, in the directory's partition
    case shareDirectory = 0x58

    /// Whether keys go on with a zone number, so that deleting a zone clears them.
    package var isZoned: Bool { (Subspace.record.rawValue...Subspace.index.rawValue).contains(rawValue) }

    /// Every key of this subspace.
    package var range: KeyRange { KeyRange(prefix: [rawValue]) }
}

extension KeyBuilder {
    /// A key of `subspace`; its elements follow the subspace's byte.
    package init(_ subspace: Subspace, capacity: Int = 48) {
        self.init(prefix: [subspace.rawValue], capacity: capacity)
    }

    /// A key of one zone of `subspace`.
    package init(_ subspace: Subspace, zone: UInt32, capacity: Int = 48) {
        self.init(subspace, capacity: capacity)
        append(Int64(zone))
    }

    /// Returns the builder with a text appended.
    package func adding(_ text: String) -> KeyBuilder {
        var copy = self
        copy.append(text)
        return copy
    }

    /// Returns the builder with a version appended.
    package func adding(_ version: UInt64) -> KeyBuilder {
        var copy = self
        copy.append(Int64(clamping: version))
        return copy
    }
}

extension KeyReader {
    /// Reads a key of `subspace`, the byte of which is skipped.
    init(_ key: Bytes, in subspace: Subspace) { self.init(key, after: 1) }

    /// A version, as `KeyBuilder.adding(_:)` wrote it.
    mutating func readVersion() throws -> UInt64 { UInt64(clamping: try readInteger()) }
}
