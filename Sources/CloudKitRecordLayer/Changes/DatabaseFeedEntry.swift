import OrderedStore

/// One zone's place in the feed of its database: there is exactly one, moved at each change (B-CHG-03).
package struct DatabaseFeedEntry: Hashable, Sendable {
    /// The version of the zone's last change.
    package var version: UInt64
    /// The name of the zone.
    package var zoneName: String

    /// Creates a value with the given properties.
    package init(version: UInt64, zoneName: String) {
        self.version = version
        self.zoneName = zoneName
    }

    static func key(_ version: UInt64) -> Bytes { KeyBuilder(.databaseFeed, capacity: 9).adding(version).bytes }
}

extension Reading {
    /// Up to `limit` entries after a version, oldest change first.
    package func databaseFeed(after version: UInt64, limit: Int) async throws -> [DatabaseFeedEntry] {
        var range = Subspace.databaseFeed.range
        range.lower = DatabaseFeedEntry.key(version + 1)
        return try await scan(range, limit: limit).map { entry in
            var key = KeyReader(entry.key, in: .databaseFeed)
            return DatabaseFeedEntry(
                version: try key.readVersion(), zoneName: String(decoding: entry.value, as: UTF8.self))
        }
    }
}

extension WriteTransaction {
    /// Moves a zone to `version` in its database's feed; the caller stores the header.
    package mutating func moveInDatabaseFeed(_ zone: inout ZoneHeader, to version: UInt64) {
        removeFromDatabaseFeed(&zone)
        zone.feedVersion = version
        set(DatabaseFeedEntry.key(version), Bytes(zone.name.utf8))
    }

    /// Removes the zone's entry from the feed of its database.
    package mutating func removeFromDatabaseFeed(_ zone: inout ZoneHeader) {
        if zone.feedVersion != 0 { clear(DatabaseFeedEntry.key(zone.feedVersion)) }
        zone.feedVersion = 0
    }
}
