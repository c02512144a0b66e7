import OrderedStore

/// The check that nothing is where nothing was found.
///
/// A search in a tree whose keys are in order goes astray in one way only if a single key is damaged: it ends beside that key. So the rows
/// before and behind the place where a search ended are checked; if their keys are what was written, nothing is missing between them.
extension Handle {
    /// Checks the key of the first row from a place on, or of the last one before it, in whichever partition it is.
    ///
    /// - Returns: The key, with the number of its partition; nil if there is no row.
    /// - Throws: `damagedValue` in the partition of the place.
    @discardableResult
    mutating func checkNeighbour(
        _ query: SQLQuery, of key: Bytes, in stored: StoredPartition, of partition: Partition
    ) throws(StoreError) -> (partition: Int64, key: Bytes)? {
        let salt = partitions.salt
        let row: (partition: Int64, key: Bytes, isDamaged: Bool)? = try first(
            query, step: { $0.step(stored.id, key) },
            take: { row in
                let (id, found) = (row.integer(at: 0), row.bytes(at: 1))
                let holds =
                    row.holds(.number, .bytes, .number)
                    && ValueChecksum.holds(row.integer(at: 2), key: found, partition: id, salt: salt)
                return (id, found, !holds)
            })
        guard let row else { return nil }
        if row.isDamaged { throw partitions.damaged(row.key, in: partition) }
        return (row.partition, row.key)
    }

    /// Checks the rows between which a key would be, and returns the place between them.
    ///
    /// - Throws: `damagedValue` in the partition of the key.
    mutating func checkedGap(
        around key: Bytes, in stored: StoredPartition, of partition: Partition
    ) throws(StoreError) -> TurnKnowledge.Gap {
        let next = try checkNeighbour(.keyFrom, of: key, in: stored, of: partition)
        let last = try checkNeighbour(.keyBefore, of: key, in: stored, of: partition)
        return TurnKnowledge.Gap(
            partition: stored.id, lower: last?.partition == stored.id ? last?.key : nil,
            upper: next?.partition == stored.id ? next?.key : nil)
    }

    /// Checks the row before the beginning of a read of a range, and if it came to its end the row that ended it.
    ///
    /// - Parameters:
    ///   - isWhole: Whether the read came to its end.
    ///   - last: The last key that was read; nil if there is none.
    mutating func checkEnds(
        of range: KeyRange, in stored: StoredPartition, of partition: Partition, isWhole: Bool, last: Bytes?,
        reverse: Bool
    ) throws(StoreError) {
        let (beginning, ending) = reverse ? (SQLQuery.keyFrom, SQLQuery.keyBefore) : (.keyBefore, .keyFrom)
        let start = reverse ? range.upper : range.lower
        try checkNeighbour(beginning, of: start, in: stored, of: partition)
        guard isWhole else { return }
        // Searched from the last row: the end of the range may be elsewhere in the file than where the read ended.
        let end = last.map { reverse ? $0 : $0 + [0] } ?? start
        try checkNeighbour(ending, of: end, in: stored, of: partition)
    }

    /// Returns the number of a partition; nil if there is none.
    ///
    /// - Throws: `damagedValue` if the partition's row is damaged, or one of those between which it would be.
    mutating func storedID(of partition: Partition) throws(StoreError) -> Int64? {
        let name = Bytes(partition.name.utf8)
        if let row = try partitionRow(.partitionID, name) {
            guard row.holds else { throw partitions.damaged([], in: partition) }
            return row.id
        }
        for query in [SQLQuery.partitionFrom, .partitionBefore] {
            if let row = try partitionRow(query, name), !row.holds { throw partitions.damaged([], in: partition) }
        }
        return nil
    }

    private mutating func partitionRow(
        _ query: SQLQuery, _ name: Bytes
    ) throws(StoreError) -> (id: Int64, holds: Bool)? {
        let partitions = partitions
        return try first(
            query, step: { $0.step(name) },
            take: { row in
                let id = row.integer(at: 1)
                return (
                    id,
                    row.holds(.bytes, .number, .number)
                        && partitions.sum(row.bytes(at: 0), id: id) == row.integer(at: 2)
                )
            })
    }
}
