import OrderedStore

/// What one request may read before it answers with what it has and a place to go on from.
///
/// A page may therefore hold fewer records than asked for, or none, and still not be the last.
package struct QueryBudget: Hashable, Sendable {
    /// Index entries read, about.
    package var entriesMax: Int
    /// Bytes of records read, about.
    package var bytesMax: Int
    /// Up to so many records are sorted in memory rather than found by walking the index of the order.
    package var sortedInMemoryMax: Int

    package init(entriesMax: Int = 10_000, bytesMax: Int = 16 << 20, sortedInMemoryMax: Int = 1000) {
        self.entriesMax = entriesMax
        self.bytesMax = bytesMax
        self.sortedInMemoryMax = sortedInMemoryMax
    }

    static let scanSize = 200
}

/// One record that a query found.
package struct QueryRow: Hashable, Sendable {
    package var zone: UInt32
    package var record: StoredRecord
}

/// What one run of a query found.
package struct QueryRows: Hashable, Sendable {
    package var rows: [QueryRow]
    /// Where to go on; nil when there is nothing more.
    package var next: QueryPosition?
}

/// Whether the caller may see a record: only some of a zone, for a participant of a share (B-QRY-21).
package typealias RecordVisibility = @Sendable (StoredRecord, ReadTransaction) async throws -> Bool
