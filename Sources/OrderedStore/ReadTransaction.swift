/// A consistent view of one partition.
package struct ReadTransaction: Reading {
    package let home: Partition
    private let snapshot: any Snapshot

    package init(home: Partition, snapshot: any Snapshot) {
        self.home = home
        self.snapshot = snapshot
    }

    package func get(_ key: Bytes) async throws -> Bytes? {
        try await snapshot.get(key, in: home)
    }

    package func get(_ keys: [Bytes]) async throws -> [Bytes?] {
        keys.isEmpty ? [] : try await snapshot.get(keys, in: home)
    }

    package func scan(_ range: KeyRange, limit: Int, reverse: Bool) async throws -> [Entry] {
        limit <= 0 || range.isEmpty
            ? [] : try await snapshot.scan(range, in: home, limit: limit, reverse: reverse)
    }
}
