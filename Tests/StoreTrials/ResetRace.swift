import CFaultyFiles
import Foundation
import OrderedStore
import OrderedStoreSQLite
import Synchronization

/// SQLite's WAL-reset bug (3.7.0 to 3.51.2) on a schedule that meets it every time: a checkpoint has read the header of the log's index,
/// in which everything is moved already; another connection's commit then starts the log over; the checkpoint counts its new pages as moved.
/// They are lost when the log starts over the next time.
///
/// Only other processes bring it about: here `other` is their connection, and moves the log just before the checkpoint under test.
enum ResetRace {
    /// The commits of the other process at a step of the checkpoint under test.
    private final class Schedule: Sendable {
        private struct State {
            var next = Int32(FAULTY_CHECKPOINT_LOCKS)
            var failure: String?
        }

        private let state = Mutex<State?>(nil)
        private let other: Mutex<Database>
        private let rows = Mutex(0)

        init(_ path: String) throws {
            let database = try Database(path)
            try database.execute("PRAGMA wal_autocheckpoint = 0")
            try database.execute("CREATE TABLE IF NOT EXISTS trial(id INTEGER PRIMARY KEY, value BLOB)")
            other = Mutex(database)
        }

        func begin() { state.withLock { $0 = State() } }

        /// Whether both steps were taken.
        var isMet: Bool {
            get throws {
                let state = state.withLock { $0 }
                if let failure = state?.failure { throw Database.Failure(description: failure) }
                return state?.next == -1
            }
        }

        func observe(_ event: Int32) {
            // The other connection's own calls come here too.
            let isDue = state.withLock { state in
                guard state?.next == event else { return false }
                state?.next = -2
                return true
            }
            if !isDue { return }
            var failure: String?
            do {
                try insert()
                if event == FAULTY_CHECKPOINT_LOCKS { try checkpoint() }
            } catch let error {
                failure = "\(error)"
            }
            state.withLock { state in
                state?.next = event == FAULTY_CHECKPOINT_LOCKS ? Int32(FAULTY_CHECKPOINT_READ_HEADER) : -1
                state?.failure = failure
            }
        }

        /// Rows that were committed.
        var rowCount: Int { rows.withLock { $0 } }

        func insert() throws {
            try other.withLock { try $0.execute("INSERT INTO trial(value) VALUES(zeroblob(9000))") }
            rows.withLock { $0 += 1 }
        }

        func checkpoint() throws { try other.withLock { try $0.checkpoint() } }
    }

    private static let current = Mutex<Schedule?>(nil)

    /// Runs the schedule against the store, and against SQLite alone for comparison.
    ///
    /// - Returns: Whether the store lost nothing.
    static func run() async throws -> Bool {
        faulty_files_observe { event, _, _, _, _ in ResetRace.current.withLock { $0 }?.observe(event) }
        defer { faulty_files_observe(nil) }
        let alone = try inFolder { try losses(ofSQLiteIn: $0) }
        say(
            "SQLite \(sqliteVersion()) alone: \(alone.isEmpty ? "nothing is lost" : alone.joined(separator: "; ").prefix(200))"
        )
        let folder = try makeFolder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let problems = try await losses(ofStoreIn: folder)
        for problem in problems { say("FAILED \(problem)") }
        if problems.isEmpty { say("the store: nothing is lost") }
        return problems.isEmpty
    }

    private static func losses(ofSQLiteIn folder: String) throws -> [String] {
        let path = folder + "/plain.db"
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        let writer = try Database(path)
        try writer.execute("PRAGMA journal_mode = WAL")
        try writer.execute("PRAGMA wal_autocheckpoint = 0")
        let schedule = try Schedule(path)
        for _ in 0..<20 { try schedule.insert() }
        let checkpointer = try Database(path)
        // Before its first read a connection does not know that there is a log.
        _ = try checkpointer.text("SELECT count(*) FROM trial")
        current.withLock { $0 = schedule }
        schedule.begin()
        try checkpointer.checkpoint()
        current.withLock { $0 = nil }
        if try !schedule.isMet { return ["the schedule was not met"] }
        return losses(schedule, path: path)
    }

    private static func losses(ofStoreIn folder: String) async throws -> [String] {
        let path = folder + "/store.db"
        var options = SQLiteStore.Options()
        options.checkpointPages = 40
        options.now = { 1 }
        let store = try SQLiteStore(path: path, options: options)
        let ledger = Ledger()
        let schedule = try Schedule(path)
        current.withLock { $0 = schedule }
        var problems: [String] = []
        var id = 0
        // A write of the store may come between the steps, and then the log is not moved as a whole; so there are several attempts.
        for _ in 0..<8 where problems.isEmpty {
            schedule.begin()
            let last = id + 400
            while try !schedule.isMet {
                id += 1
                if id > last { throw Database.Failure(description: "no checkpoint met the schedule") }
                try await write(id, in: store, ledger)
            }
            problems = losses(schedule, path: path)
        }
        current.withLock { $0 = nil }
        for _ in 0..<40 {
            id += 1
            try await write(id, in: store, ledger)
        }
        problems += try await Audit(store, ledger.lines).problems
        await store.close()
        return try problems + Database.damage(of: path)
    }

    private static func write(_ id: Int, in store: SQLiteStore, _ ledger: Ledger) async throws {
        let write = PlannedWrite(id: id)
        ledger.begin(write)
        try await write.run(in: store)
        ledger.end(write, .acknowledged)
    }

    /// Lets the log start over, and compares what is left of the rows of the other process.
    private static func losses(_ schedule: Schedule, path: String) -> [String] {
        do {
            for _ in 0..<60 { try schedule.insert() }
            for _ in 0..<3 {
                try schedule.checkpoint()
                try schedule.insert()
            }
            let found = try Database(path).text("SELECT count(*) FROM trial")
            let damage = try Database.damage(of: path)
            return found == String(schedule.rowCount)
                ? damage : ["\(found) of \(schedule.rowCount) rows are left"] + damage
        } catch {
            // Pages of two ages do not fit together.
            return ["\(error)"]
        }
    }

    private static func sqliteVersion() -> String { (try? Database(":memory:").text("SELECT sqlite_version()")) ?? "" }

    private static func makeFolder() throws -> String {
        let folder = NSTemporaryDirectory() + "/store-trial-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        return folder
    }

    private static func inFolder<Value>(_ body: (String) throws -> Value) throws -> Value {
        let folder = try makeFolder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        return try body(folder)
    }
}
