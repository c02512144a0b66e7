import OrderedStore

/// Checks the checksums of the rows that a store reads.
struct PostgresValues: Sendable {
    /// The salt of the store's checksums and partition keys.
    let salt: UInt64
    /// Reports values whose checksum does not hold.
    let damage: StoreDamage

    func key(of partition: Partition) -> PartitionKey { PartitionKey(of: partition, salt: salt) }

    /// The statement by which a transaction locks a partition.
    func lockRequest(of partition: Partition) -> PostgresRequest {
        PostgresRequest(.lockPartition, .bytes(key(of: partition).bytes), .bytes(Bytes(partition.name.utf8)))
    }

    /// Returns the values in the order of the keys.
    func values(
        _ keys: [Bytes], from rows: [StoredEntry], of key: PartitionKey, in partition: Partition
    ) throws(StoreError) -> [Bytes?] {
        if keys.count == 1 {
            guard let row = rows.first else { return [nil] }
            return [try value(of: row, key, in: partition)]
        }
        var found: [Bytes: Bytes] = [:]
        found.reserveCapacity(rows.count)
        for row in rows { found[row.key] = try value(of: row, key, in: partition) }
        return keys.map { found[$0] }
    }

    func entries(_ rows: [StoredEntry], of key: PartitionKey, in partition: Partition) throws(StoreError) -> [Entry] {
        var entries: [Entry] = []
        entries.reserveCapacity(rows.count)
        for row in rows { entries.append(Entry(key: row.key, value: try value(of: row, key, in: partition))) }
        return entries
    }

    /// Returns the rows, with nil for damaged values.
    func rawEntries(_ rows: [StoredEntry], of key: PartitionKey, in partition: Partition) -> [RawEntry] {
        rows.map { row in RawEntry(key: row.key, value: try? value(of: row, key, in: partition)) }
    }

    private func value(
        of row: StoredEntry, _ key: PartitionKey, in partition: Partition
    ) throws(StoreError) -> Bytes {
        guard key.checksum.sum(row.key, row.value) == row.sum else {
            damage.note(DamagedPlace(partition: partition, key: row.key))
            throw .damagedValue(in: partition)
        }
        return row.value
    }
}
