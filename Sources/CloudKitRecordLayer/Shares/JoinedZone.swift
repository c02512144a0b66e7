import CloudKitModel
import OrderedStore

/// A zone of another user in which a user has a participant slot, as the user's own partition remembers it.
///
/// Writers of the zone do not touch it, however many members there are: changes since are noted here when the user
/// next asks. So only accepting and leaving take two partitions.
package struct JoinedZone: Hashable, Sendable {
    /// The owner of the zone.
    package var owner: UserID
    /// The name of the zone.
    package var zoneName: String
    /// The number of the zone's incarnation in its owner's partition.
    package var zone: UInt32
    /// The newest version of what the user sees there, as far as noted.
    package var noted: UInt64
    /// The zone's place in the feed of the user's shared database.
    package var feedVersion: UInt64
    /// The reason why the zone is out of reach; nil while it is not (B-SHF-04).
    package var gone: ZoneDeletionReason?
    /// The time at which it went out of reach, in milliseconds since 1970.
    package var goneSince: Int64

    /// Creates a value with the given properties.
    package init(owner: UserID, zoneName: String, zone: UInt32, noted: UInt64) {
        self.owner = owner
        self.zoneName = zoneName
        self.zone = zone
        self.noted = noted
        feedVersion = 0
        gone = nil
        goneSince = 0
    }

    fileprivate var key: Bytes { Self.key(owner, zoneName) }

    fileprivate static func key(_ owner: UserID, _ zoneName: String) -> Bytes {
        KeyBuilder(.joinedZone).adding(owner.recordName).adding(zoneName).bytes
    }

    static func feedKey(_ version: UInt64) -> Bytes { KeyBuilder(.joinedFeed).adding(version).bytes }
}

/// The counters of a user's shared database.
package struct JoinedHeader: Hashable, Sendable {
    /// The newest version of the feed.
    package var version: UInt64 = 0
    /// Tokens before this version miss zones that were forgotten.
    package var horizon: UInt64 = 0

    /// Creates the counters of an empty database.
    package init() {}

    fileprivate static let key: Bytes = [Subspace.joinedHeader.rawValue]
}

extension JoinedZone {
    private static let format: UInt8 = 1

    fileprivate var encoded: Bytes {
        var value = ValueWriter(capacity: 32)
        value.add(byte: Self.format)
        value.add(zone)
        value.add(noted)
        value.add(feedVersion)
        value.add(gone?.rawValue)
        value.add(goneSince)
        return value.bytes
    }

    init(_ entry: Entry) throws {
        var key = KeyReader(entry.key, in: .joinedZone)
        let owner = UserID(try key.readString())
        try self.init(owner: owner, zoneName: key.readString(), decoding: entry.value)
    }

    fileprivate init(owner: UserID, zoneName: String, decoding bytes: Bytes) throws {
        var value = ValueReader(bytes, of: .joinedZone)
        guard try value.byte() == Self.format else { throw DamagedValue(.joinedZone) }
        self.init(owner: owner, zoneName: zoneName, zone: try value.number(), noted: try value.number())
        feedVersion = try value.number()
        gone = try value.optionalText().flatMap(ZoneDeletionReason.init(rawValue:))
        goneSince = try value.number()
    }
}

extension JoinedHeader {
    fileprivate var encoded: Bytes {
        var value = ValueWriter(capacity: 16)
        value.add(version)
        value.add(horizon)
        return value.bytes
    }

    init(decoding bytes: Bytes?) throws {
        self.init()
        guard let bytes else { return }
        var value = ValueReader(bytes, of: .joinedHeader)
        version = try value.number()
        horizon = try value.number()
    }
}

extension Reading {
    /// Returns the counters of the user's shared database.
    package func joinedHeader() async throws -> JoinedHeader {
        try await JoinedHeader(decoding: get(JoinedHeader.key))
    }

    /// Every zone of others that the user has or had, in the order of owners and names.
    package func joinedZones() async throws -> [JoinedZone] {
        try await scan(Subspace.joinedZone.range, limit: .max).map(JoinedZone.init)
    }

    /// Up to `limit` zones whose entry in the feed comes after a version, oldest change first.
    package func joinedFeed(after version: UInt64, limit: Int) async throws -> [JoinedZone] {
        var range = Subspace.joinedFeed.range
        range.lower = JoinedZone.feedKey(version + 1)
        let keys = try await scan(range, limit: limit).map(\.value)
        let values = try await get(keys)
        return try zip(keys, values).map { key, value in
            guard let value else { throw DamagedValue(.joinedFeed) }
            return try JoinedZone(Entry(key: key, value: value))
        }
    }
}

/// Writes of a user's shared database, in a partition that need not be the transaction's home.
extension WriteTransaction {
    /// Returns a joined zone; nil if the user has not joined it.
    package func joinedZone(_ owner: UserID, _ zoneName: String, in partition: Partition) async throws -> JoinedZone? {
        try await get(JoinedZone.key(owner, zoneName), in: partition).map {
            try JoinedZone(owner: owner, zoneName: zoneName, decoding: $0)
        }
    }

    /// Returns the counters of the user's shared database.
    package func joinedHeader(in partition: Partition) async throws -> JoinedHeader {
        try await JoinedHeader(decoding: get(JoinedHeader.key, in: partition))
    }

    /// Stores a zone at the newest place of the feed.
    package mutating func move(
        _ zone: inout JoinedZone, _ header: inout JoinedHeader, in partition: Partition
    ) throws {
        if zone.feedVersion != 0 { try clear(JoinedZone.feedKey(zone.feedVersion), in: partition) }
        header.version += 1
        zone.feedVersion = header.version
        try set(JoinedZone.feedKey(zone.feedVersion), zone.key, in: partition)
        try set(zone.key, zone.encoded, in: partition)
        try set(JoinedHeader.key, header.encoded, in: partition)
    }

    /// Forgets a zone that went long ago; tokens from before expire.
    package mutating func forget(_ zone: JoinedZone, _ header: inout JoinedHeader) {
        header.horizon = max(header.horizon, zone.feedVersion)
        clear(JoinedZone.feedKey(zone.feedVersion))
        clear(zone.key)
        set(JoinedHeader.key, header.encoded)
    }
}
