import CSQLite
import CloudKitLogs

/// One connection to SQLite with its prepared statements; one user at a time.
final class Database {
    private let pointer: OpaquePointer
    private var statements: [String: OpaquePointer] = [:]

    /// Opens a file.
    ///
    /// - Throws: `missing`, `damaged`, `unavailable`.
    init(path: String, isWriter: Bool) throws(LogStoreError) {
        var pointer: OpaquePointer?
        let flags = (isWriter ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY) | SQLITE_OPEN_NOMUTEX
        let result = sqlite3_open_v2(path, &pointer, flags, nil)
        guard result == SQLITE_OK, let pointer else {
            sqlite3_close_v2(pointer)
            throw LogStoreError(
                result == SQLITE_CANTOPEN && !isWriter ? .missing : .unavailable, "the log \(path) cannot be opened")
        }
        self.pointer = pointer
        sqlite3_extended_result_codes(pointer, 1)
        sqlite3_busy_timeout(pointer, 5000)
    }

    deinit {
        for statement in statements.values { sqlite3_finalize(statement) }
        sqlite3_close_v2(pointer)
    }

    /// Gives back the pages in memory.
    func releaseMemory() { sqlite3_db_release_memory(pointer) }

    /// Runs statements without parameters and results.
    func execute(_ sql: String) throws(LogStoreError) {
        let result = sqlite3_exec(pointer, sql, nil, nil, nil)
        guard result == SQLITE_OK else { throw failure(result) }
    }

    /// Runs statements as one transaction.
    func transaction<Value>(_ body: () throws(LogStoreError) -> Value) throws(LogStoreError) -> Value {
        try execute("BEGIN IMMEDIATE")
        do throws(LogStoreError) {
            let value = try body()
            try execute("COMMIT")
            return value
        } catch {
            // Its own failure repeats one that is already known.
            sqlite3_exec(pointer, "ROLLBACK", nil, nil, nil)
            throw error
        }
    }

    /// Reads within one state of the file.
    func snapshot<Value>(_ body: () throws(LogStoreError) -> Value) throws(LogStoreError) -> Value {
        try execute("BEGIN")
        defer { sqlite3_exec(pointer, "ROLLBACK", nil, nil, nil) }
        return try body()
    }

    /// Returns a statement, prepared at its first use.
    func statement(_ sql: String) throws(LogStoreError) -> Row {
        if let known = statements[sql] { return Row(pointer: known, database: self) }
        var statement: OpaquePointer?
        let result = sqlite3_prepare_v3(pointer, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard result == SQLITE_OK, let statement else { throw failure(result) }
        statements[sql] = statement
        return Row(pointer: statement, database: self)
    }

    /// Returns the number that a statement answers; 0 without a row.
    func number(_ sql: String, _ values: Value...) throws(LogStoreError) -> Int64 {
        let row = try statement(sql)
        defer { row.reset() }
        return try row.next(values) ? row.integer(0) : 0
    }

    /// Runs a statement that answers no rows.
    func run(_ sql: String, _ values: Value...) throws(LogStoreError) {
        let row = try statement(sql)
        defer { row.reset() }
        _ = try row.next(values)
    }

    /// The number of the row that was inserted last.
    var lastRow: Int64 { sqlite3_last_insert_rowid(pointer) }

    /// The error of a result code.
    func failure(_ result: Int32) -> LogStoreError {
        let text = String(cString: sqlite3_errstr(result))
        switch result & 0xFF {
        case SQLITE_CORRUPT, SQLITE_NOTADB: return LogStoreError(.damaged, "the log is damaged: \(text)")
        case SQLITE_BUSY, SQLITE_LOCKED: return LogStoreError(.busy, "the log is in use: \(text)")
        default: return LogStoreError(.unavailable, "the log cannot be used: \(text)")
        }
    }

    /// A value of a parameter.
    enum Value {
        case integer(Int64)
        case text(String)
        case bytes([UInt8])
        case null

        init(_ text: String?) { self = text.map { .text($0) } ?? .null }
    }

    /// A statement and its current row.
    struct Row {
        fileprivate let pointer: OpaquePointer
        fileprivate let database: Database

        /// Binds values and steps to the first row.
        ///
        /// - Returns: A Boolean value that indicates whether there is one.
        func next(_ values: [Value]) throws(LogStoreError) -> Bool {
            for (index, value) in values.enumerated() { try bind(value, at: Int32(index + 1)) }
            return try next()
        }

        /// Steps to the next row.
        func next() throws(LogStoreError) -> Bool {
            let result = sqlite3_step(pointer)
            switch result {
            case SQLITE_ROW: return true
            case SQLITE_DONE: return false
            default: throw database.failure(result)
            }
        }

        /// Makes ready for the next use.
        func reset() {
            sqlite3_reset(pointer)
            sqlite3_clear_bindings(pointer)
        }

        func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(pointer, column) }

        func text(_ column: Int32) -> String? {
            guard let start = sqlite3_column_text(pointer, column) else { return nil }
            let count = Int(sqlite3_column_bytes(pointer, column))
            return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
        }

        func bytes(_ column: Int32) -> [UInt8] { withBytes(column) { Array($0) } }

        /// Calls a function with the bytes of a column, which are valid during the call alone.
        func withBytes<Result>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
            let start = sqlite3_column_blob(pointer, column)
            let count = start == nil ? 0 : Int(sqlite3_column_bytes(pointer, column))
            return body(UnsafeRawBufferPointer(start: start, count: count))
        }

        private func bind(_ value: Value, at index: Int32) throws(LogStoreError) {
            // SQLite copies: the values do not outlive this call.
            let copies = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
            let result: Int32
            switch value {
            case .integer(let number): result = sqlite3_bind_int64(pointer, index, number)
            case .null: result = sqlite3_bind_null(pointer, index)
            case .text(var text):
                result = text.withUTF8 { utf8 in
                    utf8.withMemoryRebound(to: CChar.self) {
                        sqlite3_bind_text64(
                            pointer, index, $0.baseAddress, UInt64($0.count), copies, UInt8(SQLITE_UTF8))
                    }
                }
            case .bytes(let bytes):
                result = bytes.withUnsafeBytes { bytes in
                    bytes.baseAddress.map {
                        sqlite3_bind_blob64(pointer, index, $0, UInt64(bytes.count), copies)
                    } ?? sqlite3_bind_zeroblob(pointer, index, 0)
                }
            }
            guard result == SQLITE_OK else { throw database.failure(result) }
        }
    }
}
