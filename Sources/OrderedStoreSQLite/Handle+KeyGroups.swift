import CSQLite
import OrderedStore

/// Keys that are looked up by one statement: to begin and end one takes as long as finding a row.
struct KeyGroup {
    /// The index of the first key among all that are looked up.
    let start: Int
    let keys: ArraySlice<Bytes>
    /// The bytes of all keys, so that the statement can borrow them.
    let bytes: Bytes

    static let count = 16

    init(_ keys: ArraySlice<Bytes>) {
        start = keys.startIndex
        self.keys = keys
        bytes = Bytes(keys.joined())
    }
}

extension Handle {
    /// Looks up a group of keys; those that are missing are looked up again, each by itself.
    ///
    /// - Returns: Whether any was found.
    mutating func get(
        _ group: KeyGroup, in stored: StoredPartition, of partition: Partition, into values: inout [Bytes?]
    ) throws(StoreError) -> Bool {
        // In a gap between two rows there is nothing to be found.
        if !group.keys.allSatisfy({ knowledge.isAbsent($0, in: stored.id) }) {
            try find(group, in: stored, of: partition, into: &values)
        }
        for (index, key) in zip(group.keys.indices, group.keys) where values[index] == nil {
            values[index] = try get(key, in: stored, of: partition)
        }
        return group.keys.indices.contains { values[$0] != nil }
    }

    private mutating func find(
        _ group: KeyGroup, in stored: StoredPartition, of partition: Partition, into values: inout [Bytes?]
    ) throws(StoreError) {
        let statement = try statement(.values)
        defer { statement.reset() }
        var damaged: Bytes?
        let result = statement.rows(stored.id, group) {
            let index = group.start + Int(statement.integer(at: 0))
            let key = group.keys[index]
            let isApart = statement.isReference(at: 1)
            guard let value = statement.checkedBytes(at: isApart ? 3 : 1, under: key, by: stored.checksum) else {
                damaged = key
                return false
            }
            values[index] = value
            knowledge.note(isApart ? .content(statement.integer(at: 1)) : .inline, under: key, in: stored.id)
            return true
        }
        if let damaged { throw partitions.damaged(damaged, in: partition) }
        if result != SQLITE_DONE { throw failure(result) }
    }
}
