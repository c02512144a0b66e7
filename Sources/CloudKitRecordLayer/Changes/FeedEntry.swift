import OrderedStore

/// One record's place in the feed of its zone: there is exactly one, moved at each save and deletion (B-CHG-05).
///
/// It suffices to fill a page to the byte, and to skip types that were not asked for, before any record is read.
package struct FeedEntry: Hashable, Sendable {
    /// The version of the record's last change.
    package var version: UInt64
    /// The name of the record.
    package var recordName: String
    /// The record type.
    package var recordType: String
    /// Whether the record was deleted.
    package var isTombstone: Bool
    /// Bytes of the stored record.
    package var size: Int

    /// Creates a value with the given properties.
    package init(version: UInt64, recordName: String, recordType: String, isTombstone: Bool, size: Int) {
        self.version = version
        self.recordName = recordName
        self.recordType = recordType
        self.isTombstone = isTombstone
        self.size = size
    }

    static func key(zone: UInt32, version: UInt64) -> Bytes {
        KeyBuilder(.feed, zone: zone, capacity: 13).adding(version).bytes
    }

    var value: Bytes {
        var value = ValueWriter(capacity: 9 + recordName.utf8.count + recordType.utf8.count)
        value.add(byte: isTombstone ? 1 : 0)
        value.add(UInt32(clamping: size))
        value.add(recordName)
        value.add(recordType)
        return value.bytes
    }

    init(_ entry: Entry, recordType: String? = nil) throws {
        var key = KeyReader(entry.key, in: .feed)
        try key.skip()
        try self.init(version: key.readVersion(), value: entry.value, recordType: recordType)
    }

    /// - Parameter recordType: The type that the record most likely has.
    init(version: UInt64, value bytes: Bytes, recordType similar: String? = nil) throws {
        self.version = version
        var value = ValueReader(bytes, of: .feed)
        isTombstone = try value.byte() == 1
        size = Int(try value.number(UInt32.self))
        recordName = try value.text()
        recordType = try value.text(similar)
    }
}

extension FeedEntry {
    fileprivate static func entries(_ found: [Entry]) throws -> [FeedEntry] {
        var entries: [FeedEntry] = []
        entries.reserveCapacity(found.count)
        for entry in found { entries.append(try FeedEntry(entry, recordType: entries.last?.recordType)) }
        return entries
    }
}

extension Reading {
    /// Up to `limit` entries after a version and up to another, oldest change first.
    package func feed(
        zone: UInt32, after version: UInt64, through last: UInt64 = .max, limit: Int
    ) async throws -> [FeedEntry] {
        var range = KeyRange(prefix: KeyBuilder(.feed, zone: zone).bytes)
        range.lower = FeedEntry.key(zone: zone, version: version + 1)
        if last != .max { range.upper = FeedEntry.key(zone: zone, version: last + 1) }
        return try FeedEntry.entries(await scan(range, limit: limit, reverse: false))
    }

    /// Up to `limit` entries before a version, newest change first.
    package func feed(zone: UInt32, before version: UInt64, limit: Int) async throws -> [FeedEntry] {
        var range = KeyRange(prefix: KeyBuilder(.feed, zone: zone).bytes)
        range.upper = FeedEntry.key(zone: zone, version: version)
        return try FeedEntry.entries(await scan(range, limit: limit, reverse: true))
    }
}

extension WriteTransaction {
    /// Writes an entry of a zone's feed.
    package mutating func set(_ entry: FeedEntry, zone: UInt32) {
        set(FeedEntry.key(zone: zone, version: entry.version), entry.value)
    }

    /// Removes an entry of a zone's feed.
    package mutating func clearFeedEntry(zone: UInt32, version: UInt64) {
        if version != 0 { clear(FeedEntry.key(zone: zone, version: version)) }
    }
}
