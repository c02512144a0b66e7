import OrderedStore

/// A table of few and small rows of one type, in a partition of the cloud's own, such as that of its accounts.
///
/// A row lies under the UTF-8 text `name/key`. Names and keys are stored: they never change.
package struct RowTable<Key: RowKey, Row: RowValue>: Hashable, Sendable {
    /// The beginning of every key of the table.
    package let name: String

    /// - Parameter name: Not the beginning of another table's name followed by a slash.
    package init(_ name: String) { self.name = name }

    /// Returns the row under `key`, or nil where there is none.
    package func row(_ key: Key, in view: some StorageView) async throws -> Row? {
        try await view.get(stored(key)).map(Row.init(rowBytes:))
    }

    /// Returns the row under `key` of a partition that the transaction names besides its home.
    package func row(
        _ key: Key, in transaction: StorageWriter, partition: StoragePartition
    ) async throws -> Row? {
        try await transaction.get(stored(key), in: partition).map(Row.init(rowBytes:))
    }

    /// Returns every row, in the order of the keys.
    package func rows(in view: some StorageView) async throws -> [Row] {
        try await entries(prefix: "", in: view).map(\.row)
    }

    /// Returns a bounded number of rows with their keys, in the order of the keys.
    ///
    /// - Parameters:
    ///   - prefix: The beginning of their keys.
    ///   - after: The key that they follow; nil: from the first.
    package func page(
        prefix: String, after: String? = nil, limit: Int, in view: some StorageView
    ) async throws -> [(key: String, row: Row)] {
        var range = KeyRange(prefix: Array("\(name)/\(prefix)".utf8))
        if let after { range.lower = Self.later(range.lower, Array("\(name)/\(after)".utf8) + [0]) }
        return try await view.scan(range, limit: limit).map { entry in
            (String(decoding: entry.key.dropFirst(name.utf8.count + 1), as: UTF8.self), try Row(rowBytes: entry.value))
        }
    }

    /// Stores a row, in place of the one under `key`.
    package func set(_ key: Key, to row: Row, in transaction: inout StorageWriter) throws {
        transaction.set(stored(key), try row.rowBytes())
    }

    /// Removes the row under `key`, if there is one.
    package func clear(_ key: Key, in transaction: inout StorageWriter) {
        transaction.clear(stored(key))
    }

    /// Returns the rest of a stored key after the table's name; nil for a key of another table.
    package func rowText(of key: [UInt8]) -> String? {
        let prefix = Array("\(name)/".utf8)
        return key.starts(with: prefix) ? String(decoding: key.dropFirst(prefix.count), as: UTF8.self) : nil
    }

    fileprivate func entries(
        prefix: String, in view: some StorageView
    ) async throws -> [(key: String, row: Row)] {
        let stored = Array("\(name)/\(prefix)".utf8)
        return try await view.scan(KeyRange(prefix: stored), limit: .max).map { entry in
            (String(decoding: entry.key.dropFirst(stored.count), as: UTF8.self), try Row(rowBytes: entry.value))
        }
    }

    private static func later(_ left: Bytes, _ right: Bytes) -> Bytes {
        left.lexicographicallyPrecedes(right) ? right : left
    }

    /// Returns the whole key under which the row of a key is stored.
    package func stored(_ key: Key) -> Bytes { Array("\(name)/\(key.rowText)".utf8) }
}

extension RowTable where Key == OwnedRowKey {
    /// Returns the rows of one owner with their names, in the order of the names.
    package func rows(of owner: String, in view: some StorageView) async throws -> [(name: String, row: Row)] {
        try await entries(prefix: owner + "/", in: view).map { ($0.key, $0.row) }
    }
}
