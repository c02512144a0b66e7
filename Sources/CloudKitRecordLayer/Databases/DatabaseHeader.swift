import CloudKitModel
import OrderedStore

/// The state of a partition in one value: read first in each write, so that its version is taken first.
package struct DatabaseHeader: Hashable, Sendable {
    /// The newest version given out; never goes back, never given twice (B-BKD-11).
    package var version: UInt64
    /// The number the next new zone gets; numbers are never reused, so a recreated zone has another (B-CHG-10).
    package var nextZoneNumber: UInt32
    /// Live custom zones (B-LIM-06).
    package var zoneCount: UInt32
    /// The number of records in the database.
    package var recordCount: UInt64
    /// Bytes of stored records, for quota (B-BKD-14).
    package var recordBytes: UInt64
    /// Tokens of the database feed before this version miss deletions that were forgotten (B-BKD-12).
    package var horizon: UInt64
    /// The schema's version when an index was last built here: who writes with an older schema would miss the index.
    package var schemaFloor: UInt64
    /// The highest key epoch of a zone that was forgotten altogether: a new zone begins with it, since devices remember
    /// the epochs they have seen.
    package var keyEpochFloor: UInt32
    /// Subscriptions that changes of this partition may meet: without any, a save asks no further.
    package var subscriptionCount: UInt32
    /// The generation of the owner's keys since their latest reset: values sealed under earlier ones open nowhere (B-ZN-12).
    package var keychainGeneration: UInt32

    /// Whether its owner has never kept anything in it: at most a reset of the account's keys has left its mark.
    package var isUnused: Bool {
        version == 0 && nextZoneNumber == Self.firstCustomZone && recordCount == 0 && subscriptionCount == 0
    }

    /// Creates the header of an empty database.
    package init() {
        version = 0
        nextZoneNumber = Self.firstCustomZone
        zoneCount = 0
        recordCount = 0
        recordBytes = 0
        horizon = 0
        schemaFloor = 0
        keyEpochFloor = 0
        subscriptionCount = 0
        keychainGeneration = 0
    }

    /// The default zone's number; it needs no creation.
    package static let defaultZone: UInt32 = 1
    static let firstCustomZone: UInt32 = 2
    /// The key of the header.
    package static let key: Bytes = [Subspace.databaseHeader.rawValue]

    /// Whether the account of the owner was removed: nothing is written here any more.
    package var isClosed: Bool { keychainGeneration == Self.closedGeneration }

    /// Generation that no keys have.
    private static let closedGeneration = UInt32.max

    /// The header of the database once it is empty and closed for good.
    package var closed: DatabaseHeader {
        var header = DatabaseHeader()
        header.version = version
        header.nextZoneNumber = nextZoneNumber
        header.keychainGeneration = Self.closedGeneration
        return header
    }

    /// Lets a database that has given out no version yet begin with later ones.
    ///
    /// - Parameter version: The version after which it begins.
    package mutating func begin(after version: UInt64) {
        if self.version == 0 { self.version = version }
    }

    /// Counts the subscriptions of a user.
    package mutating func countSubscriptions(before: Int, after: Int) {
        subscriptionCount = subscriptionCount - min(subscriptionCount, UInt32(before)) + UInt32(after)
    }

    /// Takes the next `count` versions; the first of them.
    package mutating func takeVersions(_ count: Int) -> UInt64 {
        defer { version += UInt64(count) }
        return version + 1
    }
}

extension DatabaseHeader {
    /// 1: without the minimum of key epochs. 2: without count of subscriptions. 3: without the generation of keys; written where they were never
    /// reset, so that earlier builds read it.
    private static let format: UInt8 = 4

    /// The stored form.
    package var encoded: Bytes {
        var value = ValueWriter(capacity: 61)
        value.add(byte: keychainGeneration == 0 ? 3 : Self.format)
        value.add(version)
        value.add(nextZoneNumber)
        value.add(zoneCount)
        value.add(recordCount)
        value.add(recordBytes)
        value.add(horizon)
        value.add(schemaFloor)
        value.add(keyEpochFloor)
        value.add(subscriptionCount)
        if keychainGeneration > 0 { value.add(keychainGeneration) }
        return value.bytes
    }

    /// Reads the stored form.
    package init(decoding bytes: Bytes) throws {
        var value = ValueReader(bytes, of: .databaseHeader)
        let format = try value.byte()
        guard (1...Self.format).contains(format) else { throw DamagedValue(.databaseHeader) }
        version = try value.number()
        nextZoneNumber = try value.number()
        zoneCount = try value.number()
        recordCount = try value.number()
        recordBytes = try value.number()
        horizon = try value.number()
        schemaFloor = try value.number()
        keyEpochFloor = format >= 2 ? try value.number() : 0
        subscriptionCount = format >= 3 ? try value.number() : 0
        keychainGeneration = format >= 4 ? try value.number() : 0
    }
}

extension Reading {
    /// The partition's header; a fresh one for a partition that was never written.
    package func databaseHeader() async throws -> DatabaseHeader {
        try await get(DatabaseHeader.key).map(DatabaseHeader.init(decoding:)) ?? DatabaseHeader()
    }
}

extension WriteTransaction {
    /// Returns the header of a partition that need not be the transaction's home.
    package func databaseHeader(in partition: Partition) async throws -> DatabaseHeader {
        try await get(DatabaseHeader.key, in: partition).map(DatabaseHeader.init(decoding:)) ?? DatabaseHeader()
    }

    /// Writes the header.
    package mutating func set(_ header: DatabaseHeader) { set(DatabaseHeader.key, header.encoded) }
}
