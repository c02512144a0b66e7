import CSQLite

/// A connection to a file, independent of the store.
final class Database {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private var pointer: OpaquePointer?

    init(_ path: String) throws {
        let result = sqlite3_open_v2(path, &pointer, SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX, nil)
        if result != SQLITE_OK { throw failure() }
        // Another program's connection moves the log by itself.
        sqlite3_busy_timeout(pointer, 5000)
    }

    deinit { sqlite3_close_v2(pointer) }

    func execute(_ sql: String) throws {
        if sqlite3_exec(pointer, sql, nil, nil, nil) != SQLITE_OK { throw failure() }
    }

    /// The first column of the only row, as text.
    func text(_ sql: String) throws -> String {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        guard sqlite3_prepare_v2(pointer, sql, -1, &statement, nil) == SQLITE_OK,
            sqlite3_step(statement) == SQLITE_ROW, let text = sqlite3_column_text(statement, 0)
        else { throw failure() }
        return String(cString: text)
    }

    /// Moves the log into the file as far as readers let it.
    func checkpoint() throws {
        if sqlite3_wal_checkpoint_v2(pointer, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil) != SQLITE_OK {
            throw failure()
        }
    }

    private func failure() -> Failure {
        Failure(description: pointer.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory")
    }

    /// The findings of SQLite's own check of a file; none when it is sound.
    static func damage(of path: String) throws -> [String] {
        let answer = try Database(path).text("PRAGMA integrity_check")
        return answer == "ok" ? [] : ["integrity_check: \(answer)"]
    }
}
