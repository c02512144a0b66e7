import Foundation
import OrderedStore
import OrderedStoreSQLite

/// A store that one process keeps open and checkpoints, while others open it, write a little and close it, as commands beside a
/// running cloud do.
struct Neighbours {
    var seconds: Int

    private static let writesOfChild = 6

    private static var options: SQLiteStore.Options {
        var options = SQLiteStore.Options()
        options.checkpointPages = 30
        options.busyTimeout = .seconds(30)
        return options
    }

    /// - Returns: Whether every acknowledged write is there.
    func run() async throws -> Bool {
        let folder = NSTemporaryDirectory() + "/store-trial-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/store.db"
        let store = try SQLiteStore(path: path, options: Self.options)
        let ledger = Ledger()
        let end = ContinuousClock.now + .seconds(seconds)
        let childCount = try await withThrowingTaskGroup(of: Int.self) { group in
            for neighbour in 0..<2 {
                group.addTask { try await Self.runChildren(100_000 * (neighbour + 1), path, ledger, until: end) }
            }
            for writer in 0..<2 {
                group.addTask { try await Self.write(400_000 + 100_000 * writer, in: store, ledger, until: end) }
            }
            return try await group.reduce(0, +)
        }
        var problems = try await Audit(store, ledger.lines).problems
        await store.close()
        let reopened = try SQLiteStore(path: path, options: Self.options)
        problems += try await Audit(reopened, ledger.lines).problems
        await reopened.close()
        problems += try Database.damage(of: path)
        for problem in problems { say("FAILED \(problem)") }
        say("neighbours: \(childCount) processes, \(ledger.lines.count) writes")
        return problems.isEmpty && childCount > 0
    }

    /// The life of another process: it opens the store, writes and closes it.
    static func runChild(_ path: String, first: Int) async throws -> Bool {
        let store = try SQLiteStore(path: path, options: options)
        for id in first..<first + writesOfChild { try await PlannedWrite(id: id, isInOrder: false).run(in: store) }
        await store.close()
        return true
    }

    private static func runChildren(
        _ first: Int, _ path: String, _ ledger: Ledger, until end: ContinuousClock.Instant
    ) async throws -> Int {
        var count = 0
        while ContinuousClock.now < end {
            let start = first + count * writesOfChild
            let writes = (start..<start + writesOfChild).map { PlannedWrite(id: $0, isInOrder: false) }
            for write in writes { ledger.begin(write) }
            let status = try await runProgram(["neighbour", "--path", path, "--first", String(start)])
            if status != 0 { throw Database.Failure(description: "a process ended with status \(status)") }
            for write in writes { ledger.end(write, .acknowledged) }
            count += 1
        }
        return count
    }

    private static func runProgram(_ arguments: [String]) async throws -> Int32 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        process.arguments = arguments
        return try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do {
                try process.run()
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    private static func write(
        _ first: Int, in store: SQLiteStore, _ ledger: Ledger, until end: ContinuousClock.Instant
    ) async throws -> Int {
        var id = first
        while ContinuousClock.now < end {
            let write = PlannedWrite(id: id, isInOrder: false)
            ledger.begin(write)
            try await write.run(in: store)
            ledger.end(write, .acknowledged)
            id += 1
        }
        return 0
    }
}
