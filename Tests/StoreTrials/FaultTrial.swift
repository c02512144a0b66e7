import CFaultyFiles
import Foundation
import OrderedStore
import OrderedStoreSQLite

/// One workload, during which a call of the system goes wrong.
final class FaultTrial {
    private let fault: Fault
    private let folder: String
    private let ledger = Ledger()
    private var store: SQLiteStore?
    private(set) var problems: [String] = []
    /// Errors that callers of the store saw.
    private(set) var errorCount = 0
    private var backup: [Ledger.Line]?

    private var path: String { folder + "/store.db" }
    private var copyPath: String { folder + "/copy.db" }

    init(_ fault: Fault, folder: String) {
        self.fault = fault
        self.folder = folder
    }

    /// Runs the workload; the call at `number` goes wrong, 0 for none.
    ///
    /// - Returns: How many calls of the fault's kinds there were.
    func run(at number: Int, persistent: Bool) async -> Int {
        faulty_files_arm(UInt32(fault.kinds), number, persistent ? 1 : 0, fault.error, Int32(fault.manner))
        await work()
        let count = faulty_files_disarm()
        await conclude()
        return count
    }

    private func work() async {
        await open()
        for id in 1...4 { await write(PlannedWrite(id: id)) }
        await writeTogether(5...9)
        await auditLive()
        for id in 10...13 { await write(PlannedWrite(id: id, clears: id - 9)) }
        await backUp()
        await close()
        await open()
        await writeTogether(14...18)
        await attempt { _ = try await $0.foreignCommitMark() }
        for id in 19...21 { await write(PlannedWrite(id: id, clears: id - 5)) }
        await auditLive()
    }

    /// After the fault: everything works, and everything acknowledged is there.
    private func conclude() async {
        do {
            if store == nil { try openNow() }
            guard let store else { return }
            let last = PlannedWrite(id: 30)
            ledger.begin(last)
            try await last.run(in: store)
            ledger.end(last, .acknowledged)
            problems += try await Audit(store, ledger.lines).problems.map { "live: " + $0 }
            try await auditCrash()
            try await auditBackup()
            await close()
            if FileManager.default.fileExists(atPath: path + "-wal") { problems.append("the log stays after closing") }
            problems += try await Self.audit(path, Ledger.reopened(ledger.lines)).map { "reopened: " + $0 }
        } catch {
            problems.append("an error after the fault has ended: \(error)")
        }
        await close()
    }

    /// The process is killed now.
    private func auditCrash() async throws {
        let crashed = folder + "/crashed.db"
        for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: path + suffix) {
            try FileManager.default.copyItem(atPath: path + suffix, toPath: crashed + suffix)
        }
        problems += try await Self.audit(crashed, Ledger.reopened(ledger.lines)).map { "after a crash: " + $0 }
    }

    private func auditBackup() async throws {
        guard let backup else {
            let left = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix("copy") }
            if !left.isEmpty { problems.append("a backup that failed leaves \(left)") }
            return
        }
        problems += try await Self.audit(copyPath, backup).map { "backup: " + $0 }
    }

    private static func audit(_ path: String, _ lines: [Ledger.Line]) async throws -> [String] {
        let store = try SQLiteStore(path: path, options: options)
        let problems = try await Audit(store, lines).problems
        await store.close()
        return try problems + Database.damage(of: path)
    }

    // MARK: Steps

    private static var options: SQLiteStore.Options {
        var options = SQLiteStore.Options()
        options.checkpointPages = 12
        options.busyTimeout = .milliseconds(50)
        options.now = { 1 }
        return options
    }

    private func openNow() throws {
        store = try SQLiteStore(path: path, options: Self.options)
        ledger.reopen()
    }

    private func open() async {
        for _ in 0..<2 where store == nil {
            do {
                try openNow()
            } catch {
                note(error)
            }
        }
    }

    private func close() async {
        await store?.close()
        store = nil
    }

    private func attempt(_ body: (SQLiteStore) async throws -> Void) async {
        guard let store else { return }
        do {
            try await body(store)
        } catch {
            note(error)
        }
    }

    private func write(_ write: PlannedWrite) async {
        guard let store else { return }
        if let error = await Self.write(write, in: store, ledger) { note(error) }
    }

    private static func write(_ write: PlannedWrite, in store: SQLiteStore, _ ledger: Ledger) async -> (any Error)? {
        ledger.begin(write)
        do {
            try await write.run(in: store)
            ledger.end(write, .acknowledged)
            return nil
        } catch {
            ledger.end(write, .failed)
            return error
        }
    }

    private func writeTogether(_ ids: ClosedRange<Int>) async {
        guard let store else { return }
        let ledger = ledger
        await withTaskGroup(of: (any Error)?.self) { group in
            for id in ids {
                group.addTask { await Self.write(PlannedWrite(id: id, isInOrder: false), in: store, ledger) }
            }
            for await error in group {
                if let error { note(error) }
            }
        }
    }

    private func auditLive() async {
        await attempt { store in
            problems += try await Audit(store, ledger.lines).problems.map { "meanwhile: " + $0 }
        }
    }

    private func backUp() async {
        await attempt { store in
            try await store.backUp(to: copyPath)
            backup = ledger.lines
        }
    }

    private func note(_ error: any Error) {
        errorCount += 1
        if let problem = fault.problem(with: error) { problems.append(problem) }
    }
}
