import OrderedStore

/// Entries that are to be added together, most likely under keys that are not there yet.
struct EntryRows {
    enum Value {
        case bytes(Range<Int>)
        /// The number of the content.
        case content(Int64)
    }

    struct Row {
        var key: Range<Int>
        var value: Value
        var sum: Int64
    }

    private(set) var rows: [Row] = []
    /// The bytes of all keys and values, so that one statement can borrow them.
    private(set) var bytes: Bytes = []

    /// The entries of the largest statement.
    static let countMax = 16

    var isFull: Bool { rows.count == Self.countMax }

    mutating func append(_ key: Bytes, _ value: Bytes, sum: Int64) {
        let place = append(key)
        rows.append(Row(key: place, value: .bytes(append(value)), sum: sum))
    }

    mutating func append(_ key: Bytes, content: Int64, sum: Int64) {
        rows.append(Row(key: append(key), value: .content(content), sum: sum))
    }

    mutating func removeAll() {
        rows.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
    }

    private mutating func append(_ part: Bytes) -> Range<Int> {
        let start = bytes.count
        bytes += part
        return start..<bytes.count
    }
}
