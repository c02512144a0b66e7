import CSQLite
import CloudUnderTest

/// The baseline of the embedded engine: rows of the same bytes through SQLite's C interface, with the same durability.
final class RawSQLite {
    private var database: OpaquePointer?
    private var insert: OpaquePointer?
    private var next: Int64 = 0

    /// Opens a database with WAL, `synchronous = FULL` and one table with an integer key, the fastest kind.
    init(path: String) throws {
        guard sqlite3_open(path, &database) == SQLITE_OK else { throw failure("open") }
        try execute("PRAGMA journal_mode = WAL")
        try execute("PRAGMA synchronous = FULL")
        try execute("CREATE TABLE records (number INTEGER PRIMARY KEY, body BLOB NOT NULL)")
        guard
            sqlite3_prepare_v2(database, "INSERT INTO records (number, body) VALUES (?, ?)", -1, &insert, nil)
                == SQLITE_OK
        else { throw failure("prepare") }
    }

    deinit {
        sqlite3_finalize(insert)
        sqlite3_close(database)
    }

    /// Inserts rows of 1 KiB until the time is over.
    ///
    /// - Returns: The number of rows per second.
    func rowsPerSecond(seconds: Double, rowsPerTransaction: Int) throws -> Double {
        let row = Payload.bytes + [UInt8](repeating: 0x20, count: 1024 - Payload.byteCount)
        let start = Moment.now
        let end = start.advanced(bySeconds: seconds)
        var rows = 0
        while Moment.now < end {
            try execute("BEGIN IMMEDIATE")
            for _ in 0..<rowsPerTransaction {
                next += 1
                sqlite3_bind_int64(insert, 1, next)
                let outcome = row.withUnsafeBytes { bytes in
                    // A nil destructor: SQLite uses the bytes in place until the statement is reset.
                    sqlite3_bind_blob(insert, 2, bytes.baseAddress, Int32(bytes.count), nil)
                    return sqlite3_step(insert)
                }
                guard outcome == SQLITE_DONE else { throw failure("insert") }
                sqlite3_reset(insert)
            }
            try execute("COMMIT")
            rows += rowsPerTransaction
        }
        return Double(rows) / Moment.now.seconds(since: start)
    }

    private func execute(_ statement: String) throws {
        guard sqlite3_exec(database, statement, nil, nil, nil) == SQLITE_OK else { throw failure(statement) }
    }

    private func failure(_ action: String) -> BenchError {
        BenchError("SQLite, \(action): \(String(cString: sqlite3_errmsg(database)))")
    }
}
