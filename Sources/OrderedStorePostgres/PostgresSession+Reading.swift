import OrderedStore

/// A row of the entries as it is stored; its checksum is not yet checked.
struct StoredEntry: Sendable {
    let key: Bytes
    let value: Bytes
    let sum: Int64
}

/// The rows that were found under expected keys, and in each of the expected ranges.
struct FoundRows: Sendable {
    var ofKeys: [StoredEntry] = []
    var ofRanges: [[StoredEntry]] = []
}

extension PostgresSession {
    /// The keys that one statement asks for, and the rows that one brings.
    private static let rowsMax = 2000

    /// Reads entries by their keys, in any order.
    ///
    /// - Parameter first: Sent before, in the same exchange: the beginning of a transaction, once.
    mutating func entries(
        under keys: [Bytes], in partition: PartitionKey, first: [PostgresRequest]
    ) throws(PostgresFailure) -> [StoredEntry] {
        if let key = keys.first, keys.count == 1 {
            return try rows(of: [PostgresRequest(.value, .bytes(partition.bytes), .bytes(key))], key: key, first: first)
        }
        var found: [StoredEntry] = []
        var first = first
        for start in stride(from: 0, to: keys.count, by: Self.rowsMax) {
            let part = keys[start..<min(start + Self.rowsMax, keys.count)]
            found += try rows(of: PostgresRequest.values(under: part, of: partition), key: nil, first: first)
            first = []
        }
        return found
    }

    /// Reads the first or, in reverse, the last entries of a range.
    mutating func entries(
        in range: KeyRange, of partition: PartitionKey, limit: Int, reverse: Bool, first: [PostgresRequest]
    ) throws(PostgresFailure) -> [StoredEntry] {
        var range = range
        var first = first
        var found: [StoredEntry] = []
        while found.count < limit, !range.isEmpty {
            let count = min(limit - found.count, Self.rowsMax)
            let scan = PostgresRequest.scan(range, of: partition, limit: count, reverse: reverse)
            let page = try rows(of: [scan], key: nil, first: first)
            first = []
            found += page
            guard page.count == count, let last = page.last else { break }
            // The first key behind `last` is `last` and a zero byte.
            if reverse { range.upper = last.key } else { range.lower = last.key + [0] }
        }
        return found
    }

    /// - Parameter key: The key that the only statement names; nil: the rows hold theirs.
    private mutating func rows(
        of requests: [PostgresRequest], key: Bytes?, first: [PostgresRequest]
    ) throws(PostgresFailure) -> [StoredEntry] {
        var rows: [StoredEntry] = []
        let index = first.count
        try exchange(first + requests) { number, answer in
            guard number >= index else { return }
            rows += answer.entries(under: key)
        }
        return rows
    }
}

extension PostgresAnswer {
    /// Returns the rows as entries.
    ///
    /// - Parameter key: The key that the statement names; nil: the rows hold theirs.
    func entries(under key: Bytes?) -> [StoredEntry] {
        let column = key == nil ? 1 : 0
        return (0..<rowCount).map { row in
            StoredEntry(
                key: key ?? bytes(row, 0), value: bytes(row, column),
                // A missing checksum is a wrong one.
                sum: integer(row, column + 1) ?? .min)
        }
    }
}

extension PostgresRequest {
    /// The entries of an expected range, as many as may be remembered; a range with more is read by who needs it.
    static let expectedEntriesMax = 100

    /// The statements that read what is expected: those of keys, then one for each range.
    static func reads(_ expected: ExpectedReads, of partition: PartitionKey) -> [PostgresRequest] {
        values(under: expected.keys[...], of: partition)
            + expected.ranges.map { scan($0, of: partition, limit: expectedEntriesMax + 1, reverse: false) }
    }

    /// The statement that reads the first or, in reverse, the last entries of a range.
    fileprivate static func scan(
        _ range: KeyRange, of partition: PartitionKey, limit: Int, reverse: Bool
    ) -> PostgresRequest {
        PostgresRequest(
            reverse ? .scanBack : .scan, .bytes(partition.bytes), .bytes(range.lower), .bytes(range.upper),
            .integer(Int64(limit)))
    }

    /// The statement that reads entries by a few keys, all in one state of the partition.
    ///
    /// - Parameter keys: At least one.
    static func valuesAtOnce(under keys: [Bytes], of partition: PartitionKey) -> PostgresRequest? {
        guard let rows = PostgresStatement.rowCounts.last(where: { $0 >= keys.count }), let last = keys.last else {
            return nil
        }
        // The last key more than once is one row more than once.
        let padded = keys + [Bytes](repeating: last, count: rows - keys.count)
        return PostgresRequest(
            .values(rows: rows), parameters: [.bytes(partition.bytes)] + padded.map { .bytes($0) })
    }

    /// The statements that read entries by their keys.
    static func values(under keys: ArraySlice<Bytes>, of partition: PartitionKey) -> [PostgresRequest] {
        var requests: [PostgresRequest] = []
        var rest = keys
        while !rest.isEmpty {
            // Ends with 1, which is never more than what is left.
            let rows = PostgresStatement.rowCounts.first { $0 <= rest.count } ?? 1
            let parameters = [.bytes(partition.bytes)] + rest.prefix(rows).map { PostgresParameter.bytes($0) }
            requests.append(PostgresRequest(.values(rows: rows), parameters: parameters))
            rest = rest.dropFirst(rows)
        }
        return requests
    }
}
