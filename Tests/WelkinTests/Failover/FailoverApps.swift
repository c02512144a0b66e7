import CloudUnderTest
import Foundation
import Synchronization
import Testing

@testable import CloudKit

/// The apps of a failover test: writers that use each kind of operation, a follower, and two sync engines that wait for notifications.
struct FailoverApps {
    let devices: [CKContainer]
    let zone: CKRecordZone.ID
    let ledger: Ledger

    /// What the cloud holds in the end, compared with what was acknowledged.
    struct Found {
        /// Saved records that are gone, deleted ones that are there, and marks that are missing.
        var lost: [String] = []
        /// Marks that nobody was told of, and records that the feed named more than once.
        var doubled: [String] = []
        var isFeedExact = false
        /// The records that only one of the sync engines has.
        var differences: [String] = []
    }

    /// What runs until the end of the test.
    struct Running {
        fileprivate let ledger: Ledger
        fileprivate let tasks: [Task<Void, any Error>]
        fileprivate let haveWritersEnded: SharedValue<Bool>
        fileprivate let follower: Task<Void, any Error>
        fileprivate let engines: [Engine]

        func end() async throws {
            ledger.end()
            for task in tasks { try await task.value }
            haveWritersEnded.set(true)
            try await follower.value
            for engine in engines { try await engine.finish() }
        }
    }

    private let followed = SharedValue<[String: Int]>([:])
    private let haveWritersEnded = SharedValue(false)
    private let pair = SharedValue<[Engine]>([])

    func start(writers: Int) async throws -> Running {
        let engines = [Engine(devices[0], ledger), Engine(devices[1], ledger)]
        pair.set(engines)
        for engine in engines { await engine.start() }
        let tasks = (0..<writers).map { number in
            Task {
                let database = devices[number % devices.count].privateCloudDatabase
                switch number % 4 {
                case 0, 1: try await save(database, "R\(number)")
                case 2: try await modify(database, "B\(number)")
                default: try await count(database, "T\(number)")
                }
            }
        }
        let author = Task {
            var number = 0
            while !ledger.isEnding {
                number += 1
                await engines[0].write("E\(number)")
                try await Task.sleep(for: .milliseconds(200))
            }
        }
        return Running(
            ledger: ledger, tasks: tasks + [author], haveWritersEnded: haveWritersEnded,
            follower: Task { try await follow() }, engines: engines)
    }

    // MARK: Writers

    /// Saves one record after the other, with the function that a waiting user's app calls.
    private func save(_ database: CKDatabase, _ prefix: String) async throws {
        var number = 0
        while !ledger.isEnding {
            number += 1
            let name = "\(prefix)-\(number)"
            let isSaved = await ledger.running("save \(name)") {
                try await database.save(CKRecord(recordType: "Note", recordID: id(name)))
            }
            if isSaved { ledger.note(saved: [name]) }
        }
    }

    /// Saves two records and deletes an earlier one in one operation of the default quality.
    private func modify(_ database: CKDatabase, _ prefix: String) async throws {
        var number = 0
        while !ledger.isEnding {
            number += 1
            let names = ["\(prefix)-\(number)a", "\(prefix)-\(number)b"]
            let gone = number > 1 ? ["\(prefix)-\(number - 1)b"] : []
            let isDone = await ledger.running("modify \(names[0])") {
                try await modify(
                    database, saving: names.map { CKRecord(recordType: "Note", recordID: id($0)) },
                    deleting: gone.map(id))
            }
            guard isDone else { continue }
            ledger.note(saved: names, deleted: gone)
        }
    }

    private func modify(_ database: CKDatabase, saving: [CKRecord], deleting: [CKRecord.ID]) async throws {
        let operation = CKModifyRecordsOperation(recordsToSave: saving, recordIDsToDelete: deleting)
        operation.isAtomic = true
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            operation.modifyRecordsResultBlock = { continuation.resume(with: $0) }
            database.add(operation)
        }
    }

    /// Adds a mark to a record again and again, always to the version that the last save brought.
    private func count(_ database: CKDatabase, _ name: String) async throws {
        var tally = CKRecord(recordType: "Tally", recordID: id(name))
        while !ledger.isEnding {
            tally["marks"] = (tally["marks"] as? Int ?? 0) + 1
            let isCounted = await ledger.running("count \(name)") { tally = try await database.save(tally) }
            // Whether it took effect is not known: so it is not known what the next one has to be.
            guard isCounted else { return }
            ledger.note(saved: [name], mark: name)
        }
    }

    private func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zone) }

    // MARK: Followers

    /// Reads the zone's feed until it has come to the end of what the writers have written, their last saves included, which end after
    /// `ledger.end`.
    private func follow() async throws {
        var token: CKServerChangeToken?
        while true {
            let isLast = haveWritersEnded.value
            let database = devices[1].privateCloudDatabase
            _ = await ledger.running("follow") {
                do {
                    let page = try await database.recordZoneChanges(inZoneWith: zone, since: token)
                    token = page.changeToken
                    followed.change { counts in
                        for id in page.modificationResultsByID.keys { counts[id.recordName, default: 0] += 1 }
                    }
                } catch let error as CKError where error.code == .changeTokenExpired {
                    // Begins again, as an app does; the run reports the error.
                    token = nil
                    followed.change { $0 = [:] }
                    throw error
                }
            }
            let isComplete = ledger.saved.subtracting(ledger.deleted).isSubset(of: followed.value.keys)
            if isLast, isComplete { return }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Compares what the cloud holds with what was acknowledged.
    func found() async throws -> Found {
        var found = Found()
        var records: [String: CKRecord] = [:]
        var token: CKServerChangeToken?
        var isComplete = false
        while !isComplete {
            let page = try await devices[1].privateCloudDatabase.recordZoneChanges(inZoneWith: zone, since: token)
            for (id, result) in page.modificationResultsByID { records[id.recordName] = try result.get().record }
            token = page.changeToken
            isComplete = !page.moreComing
        }
        let expected = ledger.saved.subtracting(ledger.deleted)
        found.lost = expected.subtracting(records.keys).sorted() + ledger.deleted.filter { records[$0] != nil }.sorted()
        for (name, count) in ledger.marks {
            let held = records[name]?["marks"] as? Int ?? 0
            if held < count { found.lost.append("\(name): \(held) of \(count) marks") }
            if held > count { found.doubled.append("\(name): \(held) of \(count) marks") }
        }
        let onceOnly = followed.value.filter { !$0.key.hasPrefix("T") }
        found.doubled += onceOnly.filter { $0.value > 1 }.keys.sorted()
        found.isFeedExact = Set(followed.value.keys).isSuperset(of: records.keys)
        let notes = await pair.value.asyncMap { await $0.notes }
        found.differences = notes[0].symmetricDifference(notes[1]).sorted()
        return found
    }
}

extension [Engine] {
    fileprivate func asyncMap<Value>(_ body: (Engine) async -> Value) async -> [Value] {
        var values: [Value] = []
        for engine in self { values.append(await body(engine)) }
        return values
    }
}

/// A value that tasks share.
final class SharedValue<Value: Sendable>: Sendable {
    private let held: Mutex<Value>

    init(_ value: Value) { held = Mutex(value) }

    var value: Value { held.withLock { $0 } }
    func set(_ value: Value) { held.withLock { $0 = value } }
    func change(_ body: (inout Value) -> Void) { held.withLock { body(&$0) } }
}

/// An app with a sync engine, which gets its changes when it is notified of them.
actor Engine: CKSyncEngineDelegate {
    private static let zone = CKRecordZone(zoneName: "Engines")

    private let database: CKDatabase
    private let ledger: Ledger
    private var engine: CKSyncEngine?
    /// The names of the records that this device has.
    private(set) var notes: Set<String> = []

    init(_ container: CKContainer, _ ledger: Ledger) {
        database = container.privateCloudDatabase
        self.ledger = ledger
    }

    func start() {
        let engine = CKSyncEngine(
            CKSyncEngine.Configuration(database: database, stateSerialization: nil, delegate: self))
        engine.state.add(pendingDatabaseChanges: [.saveZone(Self.zone)])
        self.engine = engine
    }

    func write(_ name: String) {
        notes.insert(name)
        engine?.state.add(
            pendingRecordZoneChanges: [.saveRecord(CKRecord.ID(recordName: name, zoneID: Self.zone.zoneID))])
    }

    /// Sends and fetches what is left.
    func finish() async throws {
        try await engine?.sendChanges()
        try await engine?.fetchChanges()
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch event {
        case .fetchedRecordZoneChanges(let event):
            for modification in event.modifications { notes.insert(modification.record.recordID.recordName) }
            for deletion in event.deletions { notes.remove(deletion.recordID.recordName) }
        case .sentRecordZoneChanges(let event):
            for failed in event.failedRecordSaves {
                ledger.note(error: failed.error, of: "engine \(failed.record.recordID.recordName)")
            }
        default: break
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        await CKSyncEngine.RecordZoneChangeBatch(
            pendingChanges: syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        ) { CKRecord(recordType: "Note", recordID: $0) }
    }
}
