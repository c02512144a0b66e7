import CloudKitModel
import OrderedStore

/// The limits on the reads of one request, which then answers with a part and the position to continue from.
///
/// A page may therefore hold fewer records than asked for, or none, and still not be the last.
package struct QueryBudget: Hashable, Sendable {
    /// Index entries read, about.
    package var entriesMax: Int
    /// Bytes of records read, about.
    package var bytesMax: Int
    /// Up to so many records are sorted in memory rather than found by walking the index of the order.
    package var sortedInMemoryMax: Int

    /// Creates a value with the given properties.
    package init(entriesMax: Int = 10_000, bytesMax: Int = 16 << 20, sortedInMemoryMax: Int = 1000) {
        self.entriesMax = entriesMax
        self.bytesMax = bytesMax
        self.sortedInMemoryMax = sortedInMemoryMax
    }

    static let scanSize = 200

    /// Returns about how many bytes a record takes in an answer; those of a share include the identities and keys of its participants.
    static func bytes(of record: StoredRecord) -> Int {
        record.storedBytes + (record.recordType == Validity.shareRecordType ? 65_536 : 0)
    }
}

/// One record that a query found.
package struct QueryRow: Hashable, Sendable {
    /// The number of the record's zone.
    package var zone: UInt32
    /// The record.
    package var record: StoredRecord
}

/// The rows that one run of a query found.
package struct QueryRows: Hashable, Sendable {
    /// The rows of the page, in order.
    package var rows: [QueryRow]
    /// The position to continue from; nil when there is nothing more.
    package var next: QueryPosition?
}

/// Whether the caller may see a record: only some of a zone, for a participant of a share (B-QRY-21).
package typealias RecordVisibility = @Sendable (StoredRecord, ReadTransaction) async throws -> Bool
