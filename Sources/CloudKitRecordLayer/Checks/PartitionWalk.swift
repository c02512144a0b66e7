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
    private let view: ReadTransaction
    private var ranges = [KeyRange(lower: [], upper: [0xFF])]
    private var rowsLeft = Int.max
    private var last: Bytes?
    /// Whether a key came after one that it precedes.
    package private(set) var isOutOfOrder = false

    /// Begins before the first row.
    package init(_ view: ReadTransaction) {
        self.view = view
    }

    /// Reads up to `count` rows, of a database those of its header and its zones only.
    package mutating func readFirst(_ count: Int, headersOnly: Bool) {
        if headersOnly { ranges = [Subspace.databaseHeader.range, Subspace.zone.range, Subspace.databaseFeed.range] }
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
        let rows = try await view.rows(range, limit: limit)
        return rows.isEmpty ? nil : rows.map { row($0.key, $0.value) }
    }

    private mutating func row(_ key: Bytes, _ value: Bytes?) -> WalkedRow {
        if let last, !last.precedes(key) { isOutOfOrder = true }
        last = key
        if !ranges.isEmpty { ranges[0].lower = key + [0] }
        return WalkedRow(key: key, value: value)
    }
}
