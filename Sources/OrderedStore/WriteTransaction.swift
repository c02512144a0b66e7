/// One state of some partitions, and the changes to them: writes are kept here, seen by the transaction's own
/// reads, and applied by the engine when the body has returned.
///
/// The first partition named is home; keys given without a partition belong to it.
package struct WriteTransaction: Reading {
    /// The changes that the engine applies at commit.
    package private(set) var writes: WriteSet
    private let snapshot: any Snapshot

    /// - Parameter partitions: All that may be touched, the home first.
    /// - Throws: `StoreError.Code.partitionNotNamed` when there is none.
    package init(_ partitions: [Partition], snapshot: any Snapshot) throws(StoreError) {
        writes = try WriteSet(partitions)
        self.snapshot = snapshot
    }

    /// The partition whose keys are read and written without naming it.
    package var home: Partition { writes.home.partition }

    // MARK: Reading

    /// Returns the value of a key, as this transaction has left it; nil if there is none.
    package func get(_ key: Bytes) async throws -> Bytes? {
        try await get(key, from: writes.home)
    }

    /// Returns the values of keys in their order, as this transaction has left them; nil where there is none.
    package func get(_ keys: [Bytes]) async throws -> [Bytes?] {
        try await get(keys, from: writes.home)
    }

    /// The value under `key` of a partition named at the start.
    package func get(_ key: Bytes, in partition: Partition) async throws -> Bytes? {
        try await get(key, from: writes.changes(of: partition))
    }

    /// The values under `keys` of a partition named at the start, in their order.
    package func get(_ keys: [Bytes], in partition: Partition) async throws -> [Bytes?] {
        try await get(keys, from: writes.changes(of: partition))
    }

    /// Returns up to `limit` entries of a range as this transaction has left them, in key order or in reverse.
    package func scan(_ range: KeyRange, limit: Int, reverse: Bool) async throws -> [Entry] {
        try await scan(range, from: writes.home, limit: limit, reverse: reverse)
    }

    /// The first `limit` entries of `range` of a partition named at the start, or its last ones when `reverse`.
    package func scan(
        _ range: KeyRange, in partition: Partition, limit: Int, reverse: Bool = false
    ) async throws -> [Entry] {
        try await scan(range, from: writes.changes(of: partition), limit: limit, reverse: reverse)
    }

    // MARK: Writing

    /// Sets the value of a key.
    package mutating func set(_ key: Bytes, _ value: Bytes) {
        writes.home.set(key, value)
    }

    /// - Throws: `StoreError.Code.partitionNotNamed`.
    package mutating func set(_ key: Bytes, _ value: Bytes, in partition: Partition) throws(StoreError) {
        try writes.change(partition) { $0.set(key, value) }
    }

    /// Removes a key.
    package mutating func clear(_ key: Bytes) {
        writes.home.clear(key)
    }

    /// - Throws: `StoreError.Code.partitionNotNamed`.
    package mutating func clear(_ key: Bytes, in partition: Partition) throws(StoreError) {
        try writes.change(partition) { $0.clear(key) }
    }

    /// Removes all keys of a range.
    package mutating func clear(_ range: KeyRange) {
        writes.home.clear(range)
    }

    /// - Throws: `StoreError.Code.partitionNotNamed`.
    package mutating func clear(_ range: KeyRange, in partition: Partition) throws(StoreError) {
        try writes.change(partition) { $0.clear(range) }
    }
}

extension WriteTransaction {
    private func get(_ key: Bytes, from changes: WriteSet.Changes) async throws -> Bytes? {
        switch changes.state(of: key) {
        case .untouched: try await snapshot.get(key, in: changes.partition)
        case .cleared: nil
        case .set(let value): value
        }
    }

    private func get(_ keys: [Bytes], from changes: WriteSet.Changes) async throws -> [Bytes?] {
        if keys.isEmpty { return [] }
        if changes.isEmpty { return try await snapshot.get(keys, in: changes.partition) }
        var values = [Bytes?](repeating: nil, count: keys.count)
        var untouched: [Int] = []
        for (position, key) in keys.enumerated() {
            switch changes.state(of: key) {
            case .untouched: untouched.append(position)
            case .cleared: break
            case .set(let value): values[position] = value
            }
        }
        if untouched.isEmpty { return values }
        let found = try await snapshot.get(untouched.map { keys[$0] }, in: changes.partition)
        for (position, value) in zip(untouched, found) { values[position] = value }
        return values
    }

    private func scan(
        _ range: KeyRange, from changes: WriteSet.Changes, limit: Int, reverse: Bool
    ) async throws -> [Entry] {
        if limit <= 0 || range.isEmpty { return [] }
        let partition = changes.partition
        if !changes.touches(range) {
            return try await snapshot.scan(range, in: partition, limit: limit, reverse: reverse)
        }
        let own = changes.points.entries(in: range, reverse: reverse)
        // Every own write hides at most one entry of the snapshot: so many more are enough to fill the limit.
        let (sum, overflow) = limit.addingReportingOverflow(own.count)
        let needed = overflow ? Int.max : sum
        var stored: [Entry] = []
        let remaining = changes.remainder(of: range)
        for part in reverse ? remaining.reversed() : remaining where stored.count < needed {
            stored += try await snapshot.scan(part, in: partition, limit: needed - stored.count, reverse: reverse)
        }
        return Self.merge(stored, own, limit: limit, reverse: reverse)
    }

    /// Entries of the snapshot with the transaction's own laid over them; both are in the order of the scan.
    private static func merge(
        _ stored: [Entry], _ own: [(key: Bytes, value: Bytes?)], limit: Int, reverse: Bool
    ) -> [Entry] {
        var merged: [Entry] = []
        merged.reserveCapacity(min(limit, stored.count + own.count))
        var storedNext = 0
        var ownNext = 0
        while merged.count < limit {
            guard ownNext < own.count else {
                merged += stored[storedNext...].prefix(limit - merged.count)
                break
            }
            if storedNext < stored.count {
                let order = stored[storedNext].key.order(to: own[ownNext].key)
                if order != 0, (order < 0) != reverse {
                    merged.append(stored[storedNext])
                    storedNext += 1
                    continue
                }
                if order == 0 { storedNext += 1 }
            }
            if let value = own[ownNext].value { merged.append(Entry(key: own[ownNext].key, value: value)) }
            ownNext += 1
        }
        return merged
    }
}
