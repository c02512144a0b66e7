import OrderedStore

/// What makes the rows of one format into those of the next.
///
/// It decides from the rows of a page what has to be written; the same page may be asked for again after it was written, and is left as it is then.
package protocol UpgradeStep: Sendable {
    /// The format to which the step leads; it begins with the format before.
    var format: UInt32 { get }

    /// The words for operators that say what the step does.
    var summary: String { get }

    /// Returns whether the step concerns a partition.
    func applies(to partition: Partition) -> Bool

    /// Decides what becomes of some rows.
    ///
    /// - Parameters:
    ///   - key: The key at which the rows begin.
    ///   - limit: The number of rows to read at the most.
    ///   - view: The partition.
    func page(from key: Bytes, limit: Int, in view: some Reading) async throws -> UpgradePage
}

/// What becomes of some rows of a partition.
package struct UpgradePage: Hashable, Sendable {
    /// A row to write.
    package struct Change: Hashable, Sendable {
        /// The key of the row.
        package var key: Bytes
        /// The value; nil: the row is removed.
        package var value: Bytes?

        /// Creates a change.
        package init(key: Bytes, value: Bytes?) {
            self.key = key
            self.value = value
        }
    }

    /// The number of rows that were read.
    package var rowCount: Int
    /// The rows to write.
    package var changes: [Change]
    /// The key at which the next rows begin; nil: these are the last.
    package var next: Bytes?

    /// Creates a page.
    package init(rowCount: Int = 0, changes: [Change] = [], next: Bytes? = nil) {
        self.rowCount = rowCount
        self.changes = changes
        self.next = next
    }
}
