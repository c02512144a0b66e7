/// A consistent view of one partition.
package struct ReadTransaction: Reading {
    /// The partition whose keys are read without naming it.
    package let home: Partition
    private let snapshot: any Snapshot

    /// Creates a value with the given properties.
    package init(home: Partition, snapshot: any Snapshot) {
        self.home = home
        self.snapshot = snapshot
    }

    /// Returns the value of a key; nil if there is none.
    package func get(_ key: Bytes) async throws -> Bytes? {
        try await snapshot.get(key, in: home)
    }

    /// Returns the values of keys in their order; nil where there is none.
    package func get(_ keys: [Bytes]) async throws -> [Bytes?] {
        keys.isEmpty ? [] : try await snapshot.get(keys, in: home)
    }

    /// Returns up to `limit` entries of a range, in key order or in reverse.
    package func scan(_ range: KeyRange, limit: Int, reverse: Bool) async throws -> [Entry] {
        limit <= 0 || range.isEmpty
            ? [] : try await snapshot.scan(range, in: home, limit: limit, reverse: reverse)
    }

    /// Returns up to `limit` rows of a range in key order, damaged ones too.
    package func rows(_ range: KeyRange, limit: Int) async throws -> [RawEntry] {
        limit <= 0 || range.isEmpty ? [] : try await snapshot.rows(range, in: home, limit: limit)
    }
}
