/// The changes that a transaction makes to its partitions, in the form in which an engine applies them.
///
/// Later writes have already taken the place of earlier ones: in each partition first the ranges are cleared, then the
/// points are written.
package struct WriteSet: Sendable {
    /// One for every partition named at the start, in that order; many may be empty.
    package private(set) var partitions: [Changes]

    /// - Throws: `StoreError.Code.partitionNotNamed` when there is none.
    package init(_ partitions: [Partition]) throws(StoreError) {
        if partitions.isEmpty { throw .noPartition }
        self.partitions = partitions.map { Changes(partition: $0) }
    }

    /// The changes to the first partition named.
    package var home: Changes {
        get { partitions[0] }
        _modify { yield &partitions[0] }
    }

    /// Nothing was written.
    package var isEmpty: Bool { partitions.allSatisfy(\.isEmpty) }

    /// The keys and values to be written, in bytes.
    package var byteCount: Int { partitions.reduce(0) { $0 + $1.byteCount } }

    /// - Throws: `StoreError.Code.partitionNotNamed`.
    package func changes(of partition: Partition) throws(StoreError) -> Changes {
        partitions[try index(of: partition)]
    }

    /// - Throws: `StoreError.Code.partitionNotNamed`.
    mutating func change(_ partition: Partition, _ change: (inout Changes) -> Void) throws(StoreError) {
        change(&partitions[try index(of: partition)])
    }

    private func index(of partition: Partition) throws(StoreError) -> Int {
        // A transaction names one partition, seldom two.
        guard let index = partitions.firstIndex(where: { $0.partition == partition }) else {
            throw .partitionNotNamed
        }
        return index
    }
}

extension WriteSet {
    /// The changes to one partition.
    package struct Changes: Sendable {
        /// The partition that is changed.
        package let partition: Partition

        /// Cleared before the points are written: in key order, none empty, no two overlapping.
        package private(set) var clears: [KeyRange] = []

        /// The value to be set under a key, or nil to clear it.
        package private(set) var points = SortedMap<Bytes?>()

        /// The keys and values to be written, in bytes.
        package private(set) var byteCount = 0

        init(partition: Partition) { self.partition = partition }

        /// Whether nothing is changed.
        package var isEmpty: Bool { points.isEmpty && clears.isEmpty }
    }

    /// The state of a key in a transaction.
    enum KeyState {
        case untouched, cleared
        case set(Bytes)
    }
}

extension WriteSet.Changes {
    mutating func set(_ key: Bytes, _ value: Bytes) {
        points[key] = .some(value)
        byteCount += key.count + value.count
    }

    mutating func clear(_ key: Bytes) {
        points[key] = .some(nil)
        byteCount += key.count
    }

    mutating func clear(_ range: KeyRange) {
        if range.isEmpty { return }
        points.removeAll(in: range)
        byteCount += range.lower.count + range.upper.count
        let first = firstClear(endingAtOrAfter: range.lower)
        var last = first
        var merged = range
        while last < clears.count, !range.upper.precedes(clears[last].lower) {
            if clears[last].lower.precedes(merged.lower) { merged.lower = clears[last].lower }
            if merged.upper.precedes(clears[last].upper) { merged.upper = clears[last].upper }
            last += 1
        }
        clears.replaceSubrange(first..<last, with: [merged])
    }

    func state(of key: Bytes) -> WriteSet.KeyState {
        if let point = points[key] { return point.map { .set($0) } ?? .cleared }
        if clears.isEmpty { return .untouched }
        let next = firstClear(endingAtOrAfter: key)
        // The range before ends at the key itself, and so does not hold it, when the key is its upper bound.
        return clears[next...].prefix(2).contains { $0.contains(key) } ? .cleared : .untouched
    }

    /// Calls `body` with each key that was written, in their order, and its value; nil: it is cleared.
    ///
    /// Engines call this, as a function of the map itself would not be specialized for them.
    package func visitPoints(_ body: (Bytes, Bytes?) throws(StoreError) -> Void) throws(StoreError) {
        try points.visit(body)
    }

    /// Whether anything was written or cleared within `range`.
    func touches(_ range: KeyRange) -> Bool {
        if points.holdsKey(in: range) { return true }
        return clears.contains { $0.lower.precedes(range.upper) && range.lower.precedes($0.upper) }
    }

    /// The parts of `range` that no range clear covers, in key order.
    func remainder(of range: KeyRange) -> [KeyRange] {
        var parts: [KeyRange] = []
        var lower = range.lower
        for clear in clears where lower.precedes(clear.upper) && clear.lower.precedes(range.upper) {
            if lower.precedes(clear.lower) { parts.append(KeyRange(lower: lower, upper: clear.lower)) }
            lower = clear.upper
        }
        if lower.precedes(range.upper) { parts.append(KeyRange(lower: lower, upper: range.upper)) }
        return parts
    }

    /// The index of the first cleared range whose upper bound is not before `key`.
    private func firstClear(endingAtOrAfter key: Bytes) -> Int {
        var low = 0
        var high = clears.count
        while low < high {
            let middle = (low + high) / 2
            if clears[middle].upper.precedes(key) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
