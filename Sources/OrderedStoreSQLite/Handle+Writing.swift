import CSQLite
import OrderedStore

extension Handle {
    /// Applies what a transaction did, inside the SQLite transaction under way.
    mutating func apply(_ writes: WriteSet) throws(StoreError) {
        defer { knowledge.forget() }
        for changes in writes.partitions where !changes.isEmpty {
            let stored = try make(changes.partition)
            for range in changes.clears { try clear(range, in: stored.id) }
            // What was found in the ranges is no longer there.
            if !changes.clears.isEmpty { knowledge.forget() }
            newRows.removeAll()
            // In key order, so that neighbours find their page in the cache.
            try changes.visitPoints { (key, value) throws(StoreError) in
                guard let value else { return try clear(key, in: stored.id) }
                try set(key, value, in: stored)
                if newRows.isFull { try addRows(in: stored) }
            }
            try addRows(in: stored)
        }
    }

    private mutating func set(_ key: Bytes, _ value: Bytes, in stored: StoredPartition) throws(StoreError) {
        let isInline = value.count <= Format.inlineBytesMax
        switch knowledge.holding(under: key, in: stored.id) {
        case nil where isInline, .nothing? where isInline:
            newRows.append(key, value, sum: stored.checksum.sum(key, value))
        case .nothing?:
            newRows.append(key, content: try add(value, under: key, in: stored), sum: stored.checksum.sum(key))
        case nil, .inline?, .content?: try replace(key, value, in: stored)
        }
    }

    /// Sets a value under a key that may be there.
    private mutating func replace(_ key: Bytes, _ value: Bytes, in stored: StoredPartition) throws(StoreError) {
        let partition = stored.id
        if value.count <= Format.inlineBytesMax {
            let sum = stored.checksum.sum(key, value)
            try run(.setInline) { $0.step(partition, key, value: value, sum: sum) }
            if changedNothing, let content = try content(of: key, in: partition) {
                try run(.clearContent) { $0.step(content) }
                try run(.setAny) { $0.step(partition, key, value: value, sum: sum) }
            }
        } else if let content = try content(of: key, in: partition) {
            let sum = stored.checksum.sum(key, value)
            try run(.setContent) { $0.step(content, value, sum: sum) }
        } else {
            let content = try add(value, under: key, in: stored)
            let keySum = stored.checksum.sum(key)
            try run(.setAny) { $0.step(partition, key, value: content, sum: keySum) }
        }
    }

    /// Stores a value apart from its entry and returns its number.
    private mutating func add(_ value: Bytes, under key: Bytes, in stored: StoredPartition) throws(StoreError) -> Int64
    {
        let sum = stored.checksum.sum(key, value)
        try run(.addContent) { $0.step(value, sum: sum) }
        return sqlite3_last_insert_rowid(database)
    }

    private mutating func clear(_ key: Bytes, in partition: Int64) throws(StoreError) {
        switch knowledge.holding(under: key, in: partition) {
        case .nothing?: return
        case .content(let content)?:
            try run(.clearContent) { $0.step(content) }
            try run(.clear) { $0.step(partition, key) }
        case nil, .inline?:
            try run(.clearInline) { $0.step(partition, key) }
            if changedNothing, let content = try content(of: key, in: partition) {
                try run(.clearContent) { $0.step(content) }
                try run(.clear) { $0.step(partition, key) }
            }
        }
    }

    private mutating func clear(_ range: KeyRange, in partition: Int64) throws(StoreError) {
        try run(.clearRangeContents) { $0.step(partition, in: range) }
        try run(.clearRange) { $0.step(partition, in: range) }
    }

    /// The number of the content of an entry; nil when there is no such entry or it holds its value itself.
    private mutating func content(of key: Bytes, in partition: Int64) throws(StoreError) -> Int64? {
        switch knowledge.holding(under: key, in: partition) {
        case .content(let content)?: return content
        case .nothing?, .inline?: return nil
        case nil:
            return try first(
                .value, step: { $0.step(partition, key) },
                take: { $0.isReference(at: 0) ? $0.integer(at: 0) : nil }) ?? nil
        }
    }

    private var changedNothing: Bool { sqlite3_changes(database) == 0 }
}

// MARK: Several rows a statement

extension Handle {
    /// Adds the rows that have been collected, by as few statements as possible: to begin and end one costs as much as half a row.
    private mutating func addRows(in stored: StoredPartition) throws(StoreError) {
        defer { newRows.removeAll() }
        var start = 0
        for (query, count) in [(SQLQuery.addSixteen, 16), (.addFour, 4)] {
            while newRows.rows.count - start >= count {
                try addRows(start..<start + count, by: query, in: stored)
                start += count
            }
        }
        for row in newRows.rows[start...] { try set(row, in: stored) }
    }

    private mutating func addRows(
        _ range: Range<Int>, by query: SQLQuery, in stored: StoredPartition
    ) throws(StoreError) {
        let rows = newRows
        try run(query) { $0.step(stored.id, rows.rows[range], of: rows.bytes) }
        // Rows that are there already were left as they are.
        if sqlite3_changes(database) == range.count { return }
        for row in rows.rows[range] { try set(row, in: stored) }
    }

    /// Sets a row that may be there.
    private mutating func set(_ row: EntryRows.Row, in stored: StoredPartition) throws(StoreError) {
        let key = Bytes(newRows.bytes[row.key])
        switch row.value {
        case .bytes(let value): try replace(key, Bytes(newRows.bytes[value]), in: stored)
        case .content(let content):
            let partition = stored.id
            try run(.setAny) { $0.step(partition, key, value: content, sum: row.sum) }
        }
    }
}
