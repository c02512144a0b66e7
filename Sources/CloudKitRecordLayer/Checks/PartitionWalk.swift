import OrderedStore

/// A row as a walk meets it.
package struct WalkedRow: Hashable, Sendable {
    /// The key.
    package let key: [UInt8]
    /// The value; nil if it is damaged.
    package let value: [UInt8]?

    /// The kind of the row.
    package var kind: String {
        key.first.flatMap(Subspace.init(rawValue:)).map { String(describing: $0) } ?? "unknown"
    }
}

/// Reads all rows of a partition in order and passes over damaged ones.
package struct PartitionWalk: Sendable {
    private let partition: Partition
    private let view: ReadTransaction
    private let damage: StoreDamage
    private var ranges = [KeyRange(lower: [], upper: [0xFF])]
    private var rowsLeft = Int.max
    private var last: Bytes?
    /// Whether a key came after one that it precedes.
    package private(set) var isOutOfOrder = false

    /// Begins before the first row.
    package init(partition: Partition, view: ReadTransaction, damage: StoreDamage) {
        self.partition = partition
        self.view = view
        self.damage = damage
    }

    /// Reads the header and the zones of a database only, and up to `count` rows.
    package mutating func readNewest(_ count: Int) {
        ranges = [Subspace.databaseHeader.range, Subspace.zone.range, Subspace.databaseFeed.range]
        rowsLeft = count
    }

    /// Returns up to `limit` further rows; nil at the end.
    package mutating func next(_ limit: Int) async throws -> [WalkedRow]? {
        while let range = ranges.first, rowsLeft > 0 {
            if let rows = try await rows(in: range, min(limit, rowsLeft)) {
                rowsLeft -= rows.count
                return rows
            }
            ranges.removeFirst()
        }
        return nil
    }

    private mutating func rows(in range: KeyRange, _ limit: Int) async throws -> [WalkedRow]? {
        do {
            let entries = try await view.scan(range, limit: limit)
            if entries.isEmpty { return nil }
            return entries.map { row($0.key, $0.value) }
        } catch let error as StoreError where error.code == .damagedValue {
            return try await rowsToDamage(in: range)
        }
    }

    /// Reads the rows before the first damaged one, and that one.
    private mutating func rowsToDamage(in range: KeyRange) async throws -> [WalkedRow] {
        // The scan that failed noted it; beyond the most places that are noted the error stays.
        guard let damaged = damage.firstKey(in: partition, range) else { throw StoreError.damagedValue(in: partition) }
        var before = range
        before.upper = damaged
        let entries = before.isEmpty ? [] : try await view.scan(before, limit: .max)
        return entries.map { row($0.key, $0.value) } + [row(damaged, nil)]
    }

    private mutating func row(_ key: Bytes, _ value: Bytes?) -> WalkedRow {
        if let last, !last.precedes(key) { isOutOfOrder = true }
        last = key
        if !ranges.isEmpty { ranges[0].lower = key + [0] }
        return WalkedRow(key: key, value: value)
    }
}
