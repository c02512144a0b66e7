import CSQLite
import OrderedStore

/// A prepared statement of one connection, used by the only user of the connection.
///
/// Bound bytes are borrowed, not copied: every binding stays inside the closure that steps.
struct Statement {
    let pointer: OpaquePointer

    /// Binds and steps; the result code of SQLite, whether a failure of binding or of stepping.
    func step(_ first: Int64, _ second: Bytes, value third: Bytes, sum fourth: Int64) -> Int32 {
        second.withUnsafeBytes { second in
            third.withUnsafeBytes { third in
                bind(first, at: 1) ?? bind(second, at: 2) ?? bind(third, at: 3) ?? bind(fourth, at: 4)
                    ?? sqlite3_step(pointer)
            }
        }
    }

    func step(_ first: Int64, _ second: Bytes, value third: Bytes) -> Int32 {
        second.withUnsafeBytes { second in
            third.withUnsafeBytes { third in
                bind(first, at: 1) ?? bind(second, at: 2) ?? bind(third, at: 3) ?? sqlite3_step(pointer)
            }
        }
    }

    func step(_ first: Int64, _ second: Bytes, sum third: Int64) -> Int32 {
        second.withUnsafeBytes { second in
            bind(first, at: 1) ?? bind(second, at: 2) ?? bind(third, at: 3) ?? sqlite3_step(pointer)
        }
    }

    func step(_ first: Bytes, sum second: Int64) -> Int32 {
        first.withUnsafeBytes { bind($0, at: 1) ?? bind(second, at: 2) ?? sqlite3_step(pointer) }
    }

    /// Binds, and calls `row` at every row until it answers false; the result code of the last step.
    func rows(_ first: Int64, in range: KeyRange, _ row: () -> Bool) -> Int32 {
        range.lower.withUnsafeBytes { lower in
            range.upper.withUnsafeBytes { upper in
                var result = bind(first, at: 1) ?? bind(lower, at: 2) ?? bind(upper, at: 3) ?? sqlite3_step(pointer)
                while result == SQLITE_ROW, row() { result = sqlite3_step(pointer) }
                return result
            }
        }
    }

    func step(_ first: Int64, _ second: Bytes, value third: Int64, sum fourth: Int64) -> Int32 {
        second.withUnsafeBytes { second in
            bind(first, at: 1) ?? bind(second, at: 2) ?? bind(third, at: 3) ?? bind(fourth, at: 4)
                ?? sqlite3_step(pointer)
        }
    }

    /// Binds the keys of a group behind the first parameter, and calls `row` as the other function does.
    func rows(_ first: Int64, _ group: KeyGroup, _ row: () -> Bool) -> Int32 {
        group.bytes.withUnsafeBytes { bytes in
            var failure = bind(first, at: 1)
            var (index, offset): (Int32, Int) = (2, 0)
            for key in group.keys where failure == nil {
                failure = bind(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + key.count]), at: index)
                index += 1
                offset += key.count
            }
            var result = failure ?? sqlite3_step(pointer)
            while result == SQLITE_ROW, row() { result = sqlite3_step(pointer) }
            return result
        }
    }

    /// Binds the keys, values and checksums of rows behind the first parameter.
    func step(_ first: Int64, _ rows: ArraySlice<EntryRows.Row>, of bytes: Bytes) -> Int32 {
        bytes.withUnsafeBytes { bytes in
            var failure = bind(first, at: 1)
            var index: Int32 = 2
            for row in rows where failure == nil {
                failure = bind(UnsafeRawBufferPointer(rebasing: bytes[row.key]), at: index)
                if failure != nil { break }
                failure =
                    switch row.value {
                    case .bytes(let place): bind(UnsafeRawBufferPointer(rebasing: bytes[place]), at: index + 1)
                    case .content(let content): bind(content, at: index + 1)
                    }
                failure = failure ?? bind(row.sum, at: index + 2)
                index += 3
            }
            return failure ?? sqlite3_step(pointer)
        }
    }

    func step(_ first: Int64, in range: KeyRange) -> Int32 {
        step(first, range.lower, value: range.upper)
    }

    func step(_ first: Int64, _ second: Bytes) -> Int32 {
        second.withUnsafeBytes { second in
            bind(first, at: 1) ?? bind(second, at: 2) ?? sqlite3_step(pointer)
        }
    }

    func step(_ first: Bytes) -> Int32 {
        first.withUnsafeBytes { bind($0, at: 1) ?? sqlite3_step(pointer) }
    }

    func step(_ first: Int64) -> Int32 {
        bind(first, at: 1) ?? sqlite3_step(pointer)
    }

    func step() -> Int32 {
        sqlite3_step(pointer)
    }

    /// Makes ready for the next use. What it answers repeats a failure already seen.
    func reset() {
        sqlite3_reset(pointer)
    }

    func step(_ first: Bytes, _ second: Int64, sum third: Int64) -> Int32 {
        first.withUnsafeBytes {
            bind($0, at: 1) ?? bind(second, at: 2) ?? bind(third, at: 3) ?? sqlite3_step(pointer)
        }
    }

    /// The bytes of a column of the current row.
    func bytes(at column: Int32) -> Bytes {
        let count = Int(sqlite3_column_bytes(pointer, column))
        guard count > 0, let start = sqlite3_column_blob(pointer, column) else { return [] }
        return Bytes(UnsafeRawBufferPointer(start: start, count: count))
    }

    /// Returns the bytes of a column of the current row, the checksum of which is in the next column; nil if it does not hold.
    func checkedBytes(at column: Int32, under key: Bytes, by checksum: ValueChecksum) -> Bytes? {
        // Bytes of another type would be converted.
        guard sqlite3_column_type(pointer, column) == SQLITE_BLOB,
            sqlite3_column_type(pointer, column + 1) == SQLITE_INTEGER
        else { return nil }
        let value = UnsafeRawBufferPointer(
            start: sqlite3_column_blob(pointer, column), count: Int(sqlite3_column_bytes(pointer, column)))
        return checksum.sum(key, value) == integer(at: column + 1) ? Bytes(value) : nil
    }

    func integer(at column: Int32) -> Int64 {
        sqlite3_column_int64(pointer, column)
    }

    /// Whether the columns of the current row have the types of bytes or a number, as `types` says.
    func holds(_ types: ColumnType...) -> Bool {
        types.indices.allSatisfy { sqlite3_column_type(pointer, Int32($0)) == types[$0].code }
    }

    /// Whether the column holds the number of a content instead of bytes.
    func isReference(at column: Int32) -> Bool {
        sqlite3_column_type(pointer, column) == SQLITE_INTEGER
    }

    private func bind(_ value: Int64, at index: Int32) -> Int32? {
        failure(sqlite3_bind_int64(pointer, index, value))
    }

    private func bind(_ value: UnsafeRawBufferPointer, at index: Int32) -> Int32? {
        // Without an address SQLite would bind NULL.
        guard let start = value.baseAddress else { return failure(sqlite3_bind_zeroblob(pointer, index, 0)) }
        return failure(sqlite3_bind_blob64(pointer, index, start, UInt64(value.count), nil))
    }

    private func failure(_ result: Int32) -> Int32? {
        result == SQLITE_OK ? nil : result
    }
}

/// The types of columns that a store has.
enum ColumnType {
    case bytes, number

    fileprivate var code: Int32 {
        switch self {
        case .bytes: SQLITE_BLOB
        case .number: SQLITE_INTEGER
        }
    }
}
