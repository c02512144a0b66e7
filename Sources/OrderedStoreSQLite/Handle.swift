import CSQLite
import OrderedStore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// One open database with its prepared statements, for one user at a time.
struct Handle: ~Copyable {
    enum Role {
        case writer, reader, checkpointer, backup
        /// Reads only, and moves nothing out of the log when it closes.
        case inspector
        /// Reads the file alone, as it is without its log.
        case fileInspector

        /// Pages kept in memory. Readers must drop theirs after every commit, so their cache is small.
        var cacheKiB: Int {
            switch self {
            case .writer: 32_768
            case .reader: 4_096
            case .checkpointer, .inspector, .fileInspector: 512
            case .backup: 4_096
            }
        }
    }

    let path: String
    let partitions: PartitionIDs
    private(set) var database: OpaquePointer?
    private var statements = [OpaquePointer?](repeating: nil, count: SQLQuery.allCases.count)
    /// Pages in the write-ahead log after the last commit; SQLite writes it.
    private let logPages = UnsafeMutablePointer<Int32>.allocate(capacity: 1)
    /// Partitions created by the transaction under way, not yet known to other connections.
    private var newPartitions: [Partition: StoredPartition] = [:]
    private var lastPartition: (partition: Partition, stored: StoredPartition)?
    /// Which use of this handle is under way: what a transaction that has ended still holds is recognised by it.
    private var turn = 0
    /// What the reads of this turn have found.
    var knowledge: TurnKnowledge
    /// The rows that are about to be added.
    var newRows = EntryRows()

    /// Opens the file, which need not be ours yet, and changes nothing in it.
    init(
        path: String, options: SQLiteStore.Options, role: Role, partitions: PartitionIDs
    ) throws(StoreError) {
        self.path = path
        self.partitions = partitions
        logPages.initialize(to: 0)
        knowledge = TurnKnowledge(writes: role == .writer)
        let inspects = role == .inspector || role == .fileInspector
        let access = inspects ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI : SQLITE_OPEN_READWRITE
        let flags = access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let creates = role == .writer && options.createsFile ? SQLITE_OPEN_CREATE : 0
        if role == .writer { try Self.checkLocation(path, mayBeMissing: options.createsFile) }
        let name = role == .fileInspector ? Self.immutableName(of: path) : path
        let result = sqlite3_open_v2(name, &database, flags | creates, nil)
        guard result == SQLITE_OK, database != nil else { throw failure(result) }
        if !inspects, sqlite3_db_readonly(database, "main") == 1 {
            throw Glibc.access(path, W_OK) == 0 ? .openedForReadingOnly(path: path) : .readOnly(path: path)
        }
        let timeout = options.busyTimeout.components
        sqlite3_busy_timeout(
            database, Int32(clamping: timeout.seconds * 1000 + timeout.attoseconds / 1_000_000_000_000_000))
        try execute("PRAGMA cache_size = -\(role.cacheKiB); PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON")
        // Commits are durable when they are answered; checkpoints are ours to time.
        try execute("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0")
        if let bytesMax = options.fileBytesMax {
            try execute("PRAGMA max_page_count = \(max(1, bytesMax / Format.pageBytes))")
        }
        sqlite3_wal_hook(
            database,
            { pages, _, _, count in
                pages?.assumingMemoryBound(to: Int32.self).pointee = count
                return SQLITE_OK
            }, logPages)
        // Prepared here: a transaction has to end also when there is no memory to prepare it.
        _ = try statement(.rollback)
    }

    deinit {
        for statement in statements { sqlite3_finalize(statement) }
        sqlite3_close_v2(database)
        logPages.deallocate()
    }

    /// Gives back the pages in memory if there are more of them than `bytesMax`, except those that a transaction under way has changed.
    ///
    /// - Returns: Whether any were given back.
    func releaseMemory(above bytesMax: Int) -> Bool {
        let before = cachedBytes
        guard let database, before > bytesMax else { return false }
        sqlite3_db_release_memory(database)
        return cachedBytes < before
    }

    /// The bytes of the pages in memory; 0 once the file is closed.
    var cachedBytes: Int {
        guard let database else { return 0 }
        var (used, most): (Int32, Int32) = (0, 0)
        sqlite3_db_status(database, SQLITE_DBSTATUS_CACHE_USED, &used, &most, 0)
        return Int(used)
    }

    /// Closes the file; later calls fail with `closed`.
    mutating func close() {
        for statement in statements { sqlite3_finalize(statement) }
        statements = [OpaquePointer?](repeating: nil, count: statements.count)
        sqlite3_close_v2(database)
        database = nil
    }
}

// MARK: Statements

extension Handle {
    mutating func statement(_ query: SQLQuery) throws(StoreError) -> Statement {
        if let pointer = statements[query.rawValue] { return Statement(pointer: pointer) }
        guard let database else { throw .closed }
        var pointer: OpaquePointer?
        let result = sqlite3_prepare_v3(
            database, query.sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &pointer, nil)
        guard result == SQLITE_OK, let pointer else { throw failure(result) }
        statements[query.rawValue] = pointer
        return Statement(pointer: pointer)
    }

    /// Runs a statement that answers no row.
    mutating func run(_ query: SQLQuery, _ step: (Statement) -> Int32) throws(StoreError) {
        let statement = try statement(query)
        let result = step(statement)
        if result == SQLITE_DONE || result == SQLITE_ROW { return statement.reset() }
        let failure = failure(result)
        statement.reset()
        throw failure
    }

    /// Runs a statement that answers a row or none.
    mutating func first<Value>(
        _ query: SQLQuery, step: (Statement) -> Int32, take: (Statement) -> Value
    ) throws(StoreError) -> Value? {
        let statement = try statement(query)
        let result = step(statement)
        if result == SQLITE_ROW {
            defer { statement.reset() }
            return take(statement)
        }
        let failure = result == SQLITE_DONE ? nil : failure(result)
        statement.reset()
        if let failure { throw failure }
        return nil
    }

    /// Runs statements that are not kept.
    func execute(_ sql: String) throws(StoreError) {
        guard let database else { throw .closed }
        let result = sqlite3_exec(database, sql, nil, nil, nil)
        if result != SQLITE_OK { throw failure(result) }
    }

    /// The first column of the only row of a statement that is not kept.
    func number(_ sql: String) throws(StoreError) -> Int64 {
        try row(sql) { $0.integer(at: 0) } ?? 0
    }

    func row<Value>(_ sql: String, _ take: (Statement) -> Value) throws(StoreError) -> Value? {
        guard let database else { throw .closed }
        var pointer: OpaquePointer?
        let prepared = sqlite3_prepare_v2(database, sql, -1, &pointer, nil)
        guard prepared == SQLITE_OK, let pointer else { throw failure(prepared) }
        defer { sqlite3_finalize(pointer) }
        let result = sqlite3_step(pointer)
        if result == SQLITE_ROW { return take(Statement(pointer: pointer)) }
        if result == SQLITE_DONE { return nil }
        throw failure(result)
    }

    /// The first column of up to `max` rows of a statement that is not kept, as texts.
    func texts(_ sql: String, max: Int) throws(StoreError) -> [String] {
        guard let database else { throw .closed }
        var pointer: OpaquePointer?
        let prepared = sqlite3_prepare_v2(database, sql, -1, &pointer, nil)
        guard prepared == SQLITE_OK, let pointer else { throw failure(prepared) }
        defer { sqlite3_finalize(pointer) }
        var texts: [String] = []
        var result = sqlite3_step(pointer)
        while result == SQLITE_ROW, texts.count < max {
            texts.append(String(decoding: Statement(pointer: pointer).bytes(at: 0), as: UTF8.self))
            result = sqlite3_step(pointer)
        }
        if result != SQLITE_ROW, result != SQLITE_DONE { throw failure(result) }
        return texts
    }

    func failure(_ result: Int32) -> StoreError {
        if result & 0xFF == SQLITE_CORRUPT { partitions.damage.note(.structure) }
        return StoreError(sqlite: result, systemError: database.map { sqlite3_system_errno($0) } ?? 0, path: path)
    }
}

// MARK: Transactions

extension Handle {
    /// A number for what begins now; it is good until `endTurn`.
    mutating func beginTurn() -> Int {
        turn += 1
        knowledge.forget()
        return turn
    }

    mutating func endTurn() {
        turn += 1
    }

    /// - Throws: `closed` when the transaction that `turn` stands for has ended.
    func check(_ turn: Int) throws(StoreError) {
        if turn != self.turn { throw .transactionEnded }
    }

    mutating func begin() throws(StoreError) {
        try run(.begin) { $0.step() }
    }

    /// Waits for other processes that write; from here on no other process writes, and reads see the newest state.
    mutating func beginWriting() throws(StoreError) {
        try run(.beginWriting) { $0.step() }
    }

    mutating func commit() throws(StoreError) {
        try run(.commit) { $0.step() }
        partitions.add(newPartitions)
        newPartitions.removeAll()
    }

    /// Ends whatever transaction there is. After some failures SQLite has done so by itself.
    mutating func rollback() {
        newPartitions.removeAll()
        if isInTransaction { try? run(.rollback) { $0.step() } }
    }

    var isInTransaction: Bool {
        database.map { sqlite3_get_autocommit($0) == 0 } ?? false
    }

    var logPageCount: Int { Int(logPages.pointee) }

    /// Moves the content of the log into the file as far as no reader prevents it.
    func checkpoint() throws(StoreError) {
        guard let database else { throw .closed }
        let result = sqlite3_wal_checkpoint_v2(database, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        if result != SQLITE_OK, result & 0xFF != SQLITE_BUSY { throw failure(result) }
    }
}

// MARK: Partitions

extension Handle {
    /// Returns a partition as the file knows it; nil while nothing was ever written to it.
    mutating func stored(_ partition: Partition) throws(StoreError) -> StoredPartition? {
        if let last = lastPartition, last.partition == partition { return last.stored }
        if let new = newPartitions[partition] { return new }
        let stored: StoredPartition
        if let known = partitions[partition] {
            stored = known
        } else {
            guard let id = try storedID(of: partition) else { return nil }
            // Not made by this transaction, so it is committed; and rows of this table are never changed.
            stored = partitions.stored(partition, id: id)
            partitions.add([partition: stored])
        }
        lastPartition = (partition, stored)
        return stored
    }

    /// Returns a partition, which gets a number if it has none yet.
    mutating func make(_ partition: Partition) throws(StoreError) -> StoredPartition {
        if let stored = try stored(partition) { return stored }
        let name = Bytes(partition.name.utf8)
        let id = try first(.nextPartitionID, step: { $0.step() }, take: { $0.integer(at: 0) }) ?? 1
        let sum = partitions.sum(name, id: id)
        try run(.addPartition) { $0.step(name, id, sum: sum) }
        let stored = partitions.stored(partition, id: id)
        newPartitions[partition] = stored
        return stored
    }
}

// MARK: Reading

extension Handle {
    mutating func get(_ key: Bytes, in partition: Partition) throws(StoreError) -> Bytes? {
        guard let stored = try stored(partition) else { return nil }
        return try get(key, in: stored, of: partition)
    }

    mutating func get(_ keys: [Bytes], in partition: Partition) throws(StoreError) -> [Bytes?] {
        var values = [Bytes?](repeating: nil, count: keys.count)
        guard let stored = try stored(partition) else { return values }
        var start = 0
        // Where nothing of a group is found, as with new records, the next ones are hardly different.
        var isAnyFound = true
        while isAnyFound, keys.count - start >= KeyGroup.count {
            let group = KeyGroup(keys[start..<start + KeyGroup.count])
            isAnyFound = try get(group, in: stored, of: partition, into: &values)
            start += KeyGroup.count
        }
        for index in start..<keys.count { values[index] = try get(keys[index], in: stored, of: partition) }
        return values
    }

    mutating func scan(
        _ range: KeyRange, in partition: Partition, limit: Int, reverse: Bool
    ) throws(StoreError) -> [Entry] {
        guard let stored = try stored(partition) else { return [] }
        let partitions = partitions
        var entries: [Entry] = []
        let isWhole = try visit(range, in: stored, reverse: reverse) { (key, value) throws(StoreError) in
            guard let value else { throw partitions.damaged(key, in: partition) }
            entries.append(Entry(key: key, value: value))
            return entries.count < limit
        }
        let end = isWhole ? entries.last?.key : nil
        try checkEnds(of: range, in: stored, of: partition, isWhole: isWhole, last: end, reverse: reverse)
        return entries
    }

    /// Reads the rows of a range in key order, damaged ones too, up to `limit`.
    mutating func rows(_ range: KeyRange, in partition: Partition, limit: Int) throws(StoreError) -> [RawEntry] {
        guard let stored = try stored(partition) else { return [] }
        let damage = partitions.damage
        var rows: [RawEntry] = []
        _ = try visit(range, in: stored, reverse: false) { (key, value) throws(StoreError) in
            if value == nil { damage.note(DamagedPlace(partition: partition, key: key)) }
            rows.append(RawEntry(key: key, value: value))
            return rows.count < limit
        }
        return rows
    }

    /// Calls `row` with each row of a range, nil for a damaged value, until it returns false.
    ///
    /// - Returns: Whether the range came to its end.
    private mutating func visit(
        _ range: KeyRange, in stored: StoredPartition, reverse: Bool,
        _ row: (Bytes, Bytes?) throws(StoreError) -> Bool
    ) throws(StoreError) -> Bool {
        let statement = try statement(reverse ? .scanBack : .scan)
        defer { statement.reset() }
        var rowFailure: StoreError?
        let result = statement.rows(stored.id, in: range) {
            do throws(StoreError) {
                let key = statement.bytes(at: 0)
                return try row(key, value(at: 1, of: statement, under: key, in: stored))
            } catch {
                rowFailure = error
                return false
            }
        }
        if let rowFailure { throw rowFailure }
        if result != SQLITE_ROW, result != SQLITE_DONE { throw failure(result) }
        return result == SQLITE_DONE
    }

    mutating func get(
        _ key: Bytes, in stored: StoredPartition, of partition: Partition
    ) throws(StoreError) -> Bytes? {
        if knowledge.isAbsent(key, in: stored.id) {
            knowledge.note(.nothing, under: key, in: stored.id)
            return nil
        }
        let statement = try statement(.value)
        defer { statement.reset() }
        let result = statement.step(stored.id, key)
        if result == SQLITE_DONE {
            let gap = try checkedGap(around: key, in: stored, of: partition)
            knowledge.note(gap)
            knowledge.note(.nothing, under: key, in: stored.id)
            return nil
        }
        guard result == SQLITE_ROW else { throw failure(result) }
        let holding: TurnKnowledge.Holding =
            statement.isReference(at: 0) ? .content(statement.integer(at: 0)) : .inline
        guard let value = try value(at: 0, of: statement, under: key, in: stored) else {
            throw partitions.damaged(key, in: partition)
        }
        knowledge.note(holding, under: key, in: stored.id)
        return value
    }

    /// Returns the value in a column, followed by its checksum; nil if the value is damaged.
    mutating func value(
        at column: Int32, of statement: Statement, under key: Bytes, in stored: StoredPartition
    ) throws(StoreError) -> Bytes? {
        let checksum = stored.checksum
        if !statement.isReference(at: column) { return statement.checkedBytes(at: column, under: key, by: checksum) }
        let content = statement.integer(at: column)
        return try first(
            .content, step: { $0.step(content) }, take: { $0.checkedBytes(at: 0, under: key, by: checksum) })
            ?? nil
    }
}
