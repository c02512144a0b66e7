import Foundation
import OrderedStore
import OrderedStoreSQLite
import SeededChance

/// A workload whose changes to the disk are recorded, and the store that a power cut at any moment of it leaves.
struct PowerCutTrial {
    /// How many cuts to try.
    var cutCount: Int
    var generator: SplitMix64

    private struct Recording {
        var changes: [DiskRecording.Change]
        var ledger: Ledger
        /// The number of changes when the store was first open.
        var opened: Int
        var epoch: UInt64
    }

    /// - Returns: Whether every store was whole.
    mutating func run() async throws -> Bool {
        var isGood = true
        var done = 0
        // Every round records the workload again, with other commits shared.
        while done < cutCount {
            let recording = try await Self.inFolder { try await Self.record(in: $0) }
            let roundCount = min(cutCount - done, 2 * recording.changes.count)
            done += roundCount
            let cuts = (0..<roundCount).map { _ in Int.random(in: 0...recording.changes.count, using: &generator) }
            if try await !replay(recording, cuts.sorted()) { isGood = false }
        }
        say("power cuts: \(done)")
        return isGood
    }

    private mutating func replay(_ recording: Recording, _ cuts: [Int]) async throws -> Bool {
        var isGood = true
        var disk = UnsyncedDisk()
        var applied = 0
        for cut in cuts {
            alarm(60)
            for change in recording.changes[applied..<cut] { disk.apply(change) }
            applied = cut
            let files = disk.afterPowerCut(&generator)
            let problems = try await Self.inFolder { folder in
                do {
                    return try await Self.problems(recording, cut, files, folder)
                } catch {
                    return ["\(error)"]
                }
            }
            for problem in problems {
                say("FAILED after \(cut) of \(recording.changes.count) changes: \(problem)")
                isGood = false
            }
        }
        return isGood
    }

    private static func problems(
        _ recording: Recording, _ cut: Int, _ files: [String: [UInt8]], _ folder: String
    ) async throws -> [String] {
        for (name, bytes) in files {
            try Data(bytes).write(to: URL(fileURLWithPath: folder + "/" + name))
        }
        let path = folder + "/store.db"
        var problems: [String] = []
        if cut >= recording.opened, files["store.db"] == nil { return ["the file of the store is gone"] }
        let store = try SQLiteStore(path: path, options: options)
        if cut >= recording.opened, store.epoch != recording.epoch { problems.append("the epoch is another one") }
        problems += try await Audit(store, recording.ledger.lines(at: cut)).problems
        try await PlannedWrite(id: 900, isInOrder: false).run(in: store)
        await store.close()
        return try problems + Database.damage(of: path)
    }

    private static func record(in folder: String) async throws -> Recording {
        let path = folder + "/store.db"
        DiskRecording.begin(in: folder)
        let ledger = Ledger { DiskRecording.count }
        var store = try SQLiteStore(path: path, options: options)
        let (opened, epoch) = (DiskRecording.count, store.epoch)
        for round in 0..<3 {
            let first = round * 30
            for id in first + 1...first + 10 {
                try await write(PlannedWrite(id: id, clears: id % 3 == 0 && id > 6 ? id - 5 : nil), in: store, ledger)
            }
            let isOpen = store
            try await withThrowingTaskGroup(of: Void.self) { group in
                for id in first + 11...first + 22 {
                    group.addTask { try await write(PlannedWrite(id: id, isInOrder: false), in: isOpen, ledger) }
                }
                try await group.waitForAll()
            }
            await store.close()
            store = try SQLiteStore(path: path, options: options)
        }
        await store.close()
        return Recording(changes: DiskRecording.end(), ledger: ledger, opened: opened, epoch: epoch)
    }

    private static func write(_ write: PlannedWrite, in store: SQLiteStore, _ ledger: Ledger) async throws {
        ledger.begin(write)
        try await write.run(in: store)
        ledger.end(write, .acknowledged)
    }

    private static var options: SQLiteStore.Options {
        var options = SQLiteStore.Options()
        options.checkpointPages = 24
        options.now = { 1 }
        return options
    }

    private static func inFolder<Value>(_ body: (String) async throws -> Value) async throws -> Value {
        // The folder's name as SQLite reports it.
        let folder =
            URL(fileURLWithPath: NSTemporaryDirectory()).resolvingSymlinksInPath().path
            + "/store-trial-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        return try await body(folder)
    }
}
