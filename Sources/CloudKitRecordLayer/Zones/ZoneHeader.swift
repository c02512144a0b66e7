import CloudKitModel
import OrderedStore

/// One incarnation of a zone: its number, its state and what its feed needs.
package struct ZoneHeader: Hashable, Sendable {
    /// The states of a zone.
    package enum State: Hashable, Sendable {
        case live
        /// Gone; kept so that the database feed can say so (B-ZN-08). Records in it: zone not found (B-ZN-07).
        case deleted(ZoneDeletionReason)
        /// The user removed the app's data; ends when a client deletes or saves the zone (B-ZN-10, B-ZN-11).
        case purged
        /// The user lost the keys; ends in the same way (B-ZN-12).
        case keysReset
    }

    /// The name of the zone.
    package var name: String
    /// Interned, different in every incarnation.
    package var number: UInt32
    /// The state of the zone.
    package var state: State
    /// The beginning of the state, in milliseconds since 1970.
    package var since: Int64
    /// The version of the newest entry of the zone's feed.
    package var latestVersion: UInt64
    /// The zone's position in the database feed; 0 for the default zone, which never appears there (B-CHG-04).
    package var feedVersion: UInt64
    /// Tokens of the zone's feed before this version miss deletions that were forgotten (B-BKD-12).
    package var horizon: UInt64
    /// The same for members of shared trees in the zone.
    package var memberHorizon: UInt64
    /// The feed up to this version holds no deletions that compaction would have to look at.
    package var compacted: UInt64
    /// The number of records in the zone.
    package var recordCount: UInt64
    /// The bytes of the zone's records.
    package var recordBytes: UInt64
    /// The client change token of the last save (B-BAT-11).
    package var clientChangeToken: Bytes?
    /// The epoch under which values have to be sealed now; never goes back, not even when the zone is made again.
    package var keyEpoch: UInt32
    /// The version that first statements of records have to be above (B-ENC-07): the highest one of deleted records of the default zone, which
    /// keeps no tombstones, or of records of the earlier zones whose place the zone took; 0: any will do.
    package private(set) var statementFloor: UInt64 = 0
    /// The highest version in which a statement of a record was; 0: there was none.
    package private(set) var newestStatementVersion: UInt64 = 0
    /// The way in which the zone is shared.
    package var sharing = ZoneSharing.none
    /// Fixed for the incarnation (B-ZN-16).
    package let encryptionScope: ZoneEncryptionScope

    /// Creates a value with the given properties.
    package init(
        name: String, number: UInt32, since: Int64, feedVersion: UInt64 = 0,
        encryptionScope: ZoneEncryptionScope = .perRecord
    ) {
        self.encryptionScope = encryptionScope
        self.name = name
        self.number = number
        state = .live
        self.since = since
        latestVersion = 0
        self.feedVersion = feedVersion
        horizon = 0
        memberHorizon = 0
        compacted = 0
        recordCount = 0
        recordBytes = 0
        clientChangeToken = nil
        keyEpoch = 0
    }

    /// The default zone before anything was written to it: it needs no creation.
    package static let implicitDefault = ZoneHeader(
        name: ZoneID.defaultZoneName, number: DatabaseHeader.defaultZone, since: 0)

    /// Whether the zone is the default zone.
    package var isDefaultZone: Bool { number == DatabaseHeader.defaultZone }

    /// Custom zones keep a feed with tombstones and apply batches as a whole (B-ZN-04); the others do neither
    /// (B-DB-05, B-DB-13, B-BAT-04).
    package var isCustom: Bool { !isDefaultZone }

    /// From now on values have to be sealed under another key (B-TM-05).
    ///
    /// After 4,294,967,295 epochs, more than a zone sees in its life, the last one stays: what is decided besides it is
    /// not refused, and numbers of epochs that devices have keys of are never used again.
    package mutating func beginKeyEpoch() {
        if keyEpoch < .max { keyEpoch += 1 }
    }

    /// Notes the last statement of a record that is deleted from the default zone: what is created there from now on needs a version above it
    /// (B-ENC-07).
    ///
    /// - Parameter now: Milliseconds since 1970. A version far beyond, as a wrong clock makes it, concerns nobody else's records.
    package mutating func noteDeletion(of record: StoredRecord, now: Int64) {
        statementFloor = max(statementFloor, Self.statementVersion(of: record, now: now))
    }

    /// Notes the statement of a record that is saved.
    ///
    /// - Parameter now: Milliseconds since 1970.
    package mutating func noteStatement(of record: StoredRecord, now: Int64) {
        newestStatementVersion = max(newestStatementVersion, Self.statementVersion(of: record, now: now))
    }

    /// The version of a record's newest statement; 0 where it has none, or one far beyond the present time.
    private static func statementVersion(of record: StoredRecord, now: Int64) -> UInt64 {
        guard let version = record.lastStatement?.version, version <= UInt64(clamping: now + clockDifferenceMax) else {
            return 0
        }
        return version
    }

    /// Notes that the zone takes the place of one that has ended, whose records devices remember: a save that waited for its network since
    /// then is made anew, above their versions (B-ENC-07).
    ///
    /// - Parameter now: Milliseconds since 1970, as the first versions of records are. What is made in that millisecond is not above it yet.
    ///   Of zones that earlier builds have written no versions are known; clocks of several servers differ.
    package mutating func take(placeOf earlier: ZoneHeader, now: Int64) {
        statementFloor = max(earlier.statementFloor, earlier.newestStatementVersion, UInt64(clamping: now - 1))
    }

    /// Milliseconds by which clocks of devices are expected to be ahead.
    private static let clockDifferenceMax: Int64 = 300_000

    /// Returns the key of a zone's header.
    package static func key(named name: String) -> Bytes { KeyBuilder(.zone).adding(name).bytes }
}

extension ZoneHeader.State {
    fileprivate var code: UInt8 {
        switch self {
        case .live: 0
        case .deleted(.deleted): 1
        case .deleted(.purged): 2
        case .deleted(.encryptedDataReset): 3
        case .purged: 4
        case .keysReset: 5
        }
    }

    fileprivate init(code: UInt8) throws {
        switch code {
        case 0: self = .live
        case 1: self = .deleted(.deleted)
        case 2: self = .deleted(.purged)
        case 3: self = .deleted(.encryptedDataReset)
        case 4: self = .purged
        case 5: self = .keysReset
        default: throw DamagedValue(.zone)
        }
    }

    /// The reason why the zone was deleted; nil while it lives.
    package var deletionReason: ZoneDeletionReason? {
        switch self {
        case .live: nil
        case .deleted(let reason): reason
        case .purged: .purged
        case .keysReset: .encryptedDataReset
        }
    }
}

extension ZoneHeader {
    /// 1: without key epoch. 2: without horizon of members, and how far the feed is compacted. 3: without encryption scope. 4: without the version
    /// that first statements have to be above; written where there are no statements, so that earlier builds read it. 5: without the newest version of statements.
    private static let format: UInt8 = 6

    /// The stored form.
    package var encoded: Bytes {
        var value = ValueWriter(capacity: 96)
        let hasStatements = statementFloor > 0 || newestStatementVersion > 0
        value.add(byte: hasStatements ? Self.format : 4)
        value.add(byte: state.code)
        value.add(number)
        value.add(since)
        value.add(latestVersion)
        value.add(feedVersion)
        value.add(horizon)
        value.add(recordCount)
        value.add(recordBytes)
        value.add(byte: clientChangeToken == nil ? 0 : 1)
        value.add(clientChangeToken ?? [])
        value.add(keyEpoch)
        sharing.encode(into: &value)
        value.add(memberHorizon)
        value.add(compacted)
        value.add(byte: encryptionScope.rawValue)
        if hasStatements {
            value.add(statementFloor)
            value.add(newestStatementVersion)
        }
        return value.bytes
    }

    /// Reads the stored form.
    package init(name: String, decoding bytes: Bytes) throws {
        var value = ValueReader(bytes, of: .zone)
        let format = try value.byte()
        guard (1...Self.format).contains(format) else { throw DamagedValue(.zone) }
        self.name = name
        state = try State(code: value.byte())
        number = try value.number()
        since = try value.number()
        latestVersion = try value.number()
        feedVersion = try value.number()
        horizon = try value.number()
        recordCount = try value.number()
        recordBytes = try value.number()
        let hasToken = try value.byte() == 1
        let token = try value.string()
        clientChangeToken = hasToken ? token : nil
        keyEpoch = format >= 2 ? try value.number() : 0
        sharing = value.isAtEnd ? .none : try ZoneSharing(reading: &value)
        memberHorizon = format >= 3 ? try value.number() : horizon
        compacted = format >= 3 ? try value.number() : 0
        let scope = try format >= 4 ? ZoneEncryptionScope(rawValue: value.byte()) : .perRecord
        guard let scope else { throw DamagedValue(.zone) }
        encryptionScope = scope
        statementFloor = format >= 5 ? try value.number() : 0
        newestStatementVersion = format >= 6 ? try value.number() : 0
    }
}

extension Reading {
    /// Returns the header of the partition's database and that of one of its zones, read together.
    package func headers(zoneNamed name: String) async throws -> (database: DatabaseHeader, zone: ZoneHeader?) {
        var memory = RequestMemory.none
        return try await headers(zoneNamed: name, reading: &memory)
    }

    /// Returns the headers of the partition's database and of one of its zones, read together with what the partition remembers of the request.
    package func headers(
        zoneNamed name: String, reading memory: inout RequestMemory
    ) async throws -> (database: DatabaseHeader, zone: ZoneHeader?) {
        let values = try await get([DatabaseHeader.key, ZoneHeader.key(named: name)] + memory.keys)
        try await memory.take(values[2...], self)
        let database = try values[0].map(DatabaseHeader.init(decoding:)) ?? DatabaseHeader()
        if let bytes = values[1] { return (database, try ZoneHeader(name: name, decoding: bytes)) }
        return (database, name == ZoneID.defaultZoneName ? .implicitDefault : nil)
    }

    /// The zone under a name, in whatever state; nil if there never was one. The default zone is always there.
    package func zone(named name: String) async throws -> ZoneHeader? {
        try await zones(named: [name])[0]
    }

    /// The zones under `names`, in their order.
    package func zones(named names: [String]) async throws -> [ZoneHeader?] {
        let values = try await get(names.map(ZoneHeader.key(named:)))
        return try zip(names, values).map { name, bytes in
            if let bytes { return try ZoneHeader(name: name, decoding: bytes) }
            return name == ZoneID.defaultZoneName ? .implicitDefault : nil
        }
    }

    /// Up to `limit` stored zones in the order of their names, in whatever state, beginning after a name.
    package func zones(after name: String? = nil, limit: Int) async throws -> [ZoneHeader] {
        var range = Subspace.zone.range
        if let name { range.lower = ZoneHeader.key(named: name) + [0] }
        return try await scan(range, limit: limit).map { entry in
            var key = KeyReader(entry.key, in: .zone)
            return try ZoneHeader(name: key.readString(), decoding: entry.value)
        }
    }
}

extension WriteTransaction {
    /// Writes the header of a zone.
    package mutating func set(_ zone: ZoneHeader) { set(ZoneHeader.key(named: zone.name), zone.encoded) }

    /// Removes the header of a zone.
    package mutating func clearZone(named name: String) { clear(ZoneHeader.key(named: name)) }

    /// Clears everything a zone's incarnation holds: records, feed, references, indexes.
    package mutating func clearContents(ofZone number: UInt32) {
        for subspace in Subspace.allCases where subspace.isZoned {
            clear(KeyRange(prefix: KeyBuilder(subspace, zone: number).bytes))
        }
    }
}
