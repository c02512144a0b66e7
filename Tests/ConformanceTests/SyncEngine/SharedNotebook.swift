import CloudKit
import Foundation

/// An app on one device that syncs the notes of one shared folder, as its owner or as a participant.
///
/// Its disk is one value, so that it can be killed at any event and started again from there, as ``Notebook``.
actor SharedNotebook: CKSyncEngineDelegate {
    struct Note: Codable, Hashable {
        var text: String
        /// Grows with each edit, across all devices: the larger one wins a conflict.
        var edit: Int
    }

    /// The state that survives the process.
    struct Disk: Codable {
        var notes: [String: Note] = [:]
        /// As the cloud was last seen to have them.
        var held: [String: Held] = [:]
        var hasZone = false
        /// The latest edit of each note that the cloud has acknowledged.
        var acknowledged: [String: Int] = [:]
        var state: CKSyncEngine.State.Serialization?
    }

    struct Held: Codable {
        var note: Note?
        var systemFields: Data
    }

    /// The folder's zone, as this side names it.
    private let zone: CKRecordZone.ID
    private let database: CKDatabase
    private(set) var disk: Data
    private var memory: Disk
    private var engine: CKSyncEngine?
    /// The number of events until the process dies; nil: never.
    private var eventsLeft: Int?
    private(set) var failures: Set<CKError.Code> = []

    init(_ database: CKDatabase, zone: CKRecordZone.ID, disk: Data? = nil) throws {
        self.database = database
        self.zone = zone
        let bytes = try disk ?? JSONEncoder().encode(Disk())
        self.disk = bytes
        memory = try JSONDecoder().decode(Disk.self, from: bytes)
    }

    var syncEngine: CKSyncEngine {
        if let engine { return engine }
        var configuration = CKSyncEngine.Configuration(
            database: database, stateSerialization: memory.state, delegate: self)
        configuration.automaticallySync = false
        let fresh = CKSyncEngine(configuration)
        engine = fresh
        return fresh
    }

    var notes: [String: Note] { memory.notes }
    var hasZone: Bool { memory.hasZone }
    var acknowledged: [String: Int] { memory.acknowledged }
    var hasPending: Bool { !syncEngine.state.pendingRecordZoneChanges.isEmpty }

    // MARK: Life

    var isDead: Bool { eventsLeft == 0 }

    func die(after events: Int) { eventsLeft = events }

    // MARK: Edits

    func write(_ name: String, _ note: Note) {
        memory.notes[name] = note
        syncEngine.state.add(pendingRecordZoneChanges: [.saveRecord(id(name))])
    }

    func remove(_ name: String) {
        memory.notes[name] = nil
        syncEngine.state.add(pendingRecordZoneChanges: [.deleteRecord(id(name))])
    }

    private func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zone) }

    // MARK: CKSyncEngineDelegate

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        guard !isDead else { return }
        eventsLeft = eventsLeft.map { $0 - 1 }
        switch event {
        case .stateUpdate(let event):
            memory.state = event.stateSerialization
            if let bytes = try? JSONEncoder().encode(memory) { disk = bytes }
        case .fetchedDatabaseChanges(let event):
            if event.modifications.contains(where: { $0.zoneID == zone }) { memory.hasZone = true }
            if event.deletions.contains(where: { $0.zoneID == zone }) { loseZone(syncEngine) }
        case .fetchedRecordZoneChanges(let event):
            for modification in event.modifications { merge(modification.record) }
            for deletion in event.deletions {
                memory.notes[deletion.recordID.recordName] = nil
                memory.held[deletion.recordID.recordName] = nil
            }
        case .didFetchRecordZoneChanges(let event) where event.error?.code == .changeTokenExpired:
            beginAgain(syncEngine)
        case .sentRecordZoneChanges(let event): take(event, syncEngine)
        default: break
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        guard !isDead else { return nil }
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        let memory = memory
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { id in
            guard let note = memory.notes[id.recordName] else {
                syncEngine.state.remove(pendingRecordZoneChanges: [.saveRecord(id)])
                return nil
            }
            let record =
                memory.held[id.recordName].flatMap { Self.record($0.systemFields) }
                ?? CKRecord(recordType: "Note", recordID: id)
            record["edit"] = note.edit
            record.encryptedValues["secret"] = note.text
            record.setParent(CKRecord.ID(recordName: "Folder", zoneID: id.zoneID))
            return record
        }
    }

    // MARK: What happened

    private func loseZone(_ syncEngine: CKSyncEngine) {
        memory.hasZone = false
        memory.notes = [:]
        memory.held = [:]
        syncEngine.state.remove(pendingRecordZoneChanges: syncEngine.state.pendingRecordZoneChanges)
    }

    /// The zone is fetched from the beginning: records that do not arrive do not exist, except those still to be sent.
    private func beginAgain(_ syncEngine: CKSyncEngine) {
        let pending = Set(
            syncEngine.state.pendingRecordZoneChanges.compactMap { change in
                if case .saveRecord(let id) = change { id.recordName } else { nil }
            })
        memory.notes = memory.notes.filter { pending.contains($0.key) }
        memory.held = [:]
    }

    private func take(_ event: CKSyncEngine.Event.SentRecordZoneChanges, _ syncEngine: CKSyncEngine) {
        for record in event.savedRecords {
            hold(record)
            let name = record.recordID.recordName
            guard let edit = record["edit"] as? Int else { continue }
            memory.acknowledged[name] = max(memory.acknowledged[name] ?? 0, edit)
        }
        for id in event.deletedRecordIDs { memory.held[id.recordName] = nil }
        var again: [CKSyncEngine.PendingRecordZoneChange] = []
        for failed in event.failedRecordSaves {
            let id = failed.record.recordID
            failures.insert(failed.error.code)
            switch failed.error.code {
            case .serverRecordChanged:
                guard let record = failed.error.serverRecord else { continue }
                merge(record)
                again.append(.saveRecord(id))
            case .unknownItem:
                memory.held[id.recordName] = nil
                again.append(.saveRecord(id))
            case .permissionFailure, .zoneNotFound, .userDeletedZone: takeBack(id.recordName)
            default: break
            }
        }
        for (id, error) in event.failedRecordDeletes {
            failures.insert(error.code)
            if error.code == .permissionFailure || error.code == .zoneNotFound { takeBack(id.recordName) }
        }
        syncEngine.state.add(pendingRecordZoneChanges: again)
    }

    /// A refused change is undone here as well.
    private func takeBack(_ name: String) { memory.notes[name] = memory.held[name]?.note }

    /// The later edit wins; the known state of the cloud's version always advances.
    private func merge(_ record: CKRecord) {
        guard record.recordType == "Note" else { return }
        let name = record.recordID.recordName
        hold(record)
        guard let note = memory.held[name]?.note else { return }
        if let mine = memory.notes[name], mine.edit >= note.edit { return }
        memory.notes[name] = note
    }

    private func hold(_ record: CKRecord) {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: archiver)
        memory.held[record.recordID.recordName] = Held(
            note: Self.note(record), systemFields: archiver.encodedData)
    }

    static func note(_ record: CKRecord) -> Note? {
        guard let text = record.encryptedValues["secret"] as? String, let edit = record["edit"] as? Int else {
            return nil
        }
        return Note(text: text, edit: edit)
    }

    private static func record(_ systemFields: Data) -> CKRecord? {
        guard let unarchiver = try? NSKeyedUnarchiver(forReadingFrom: systemFields) else { return nil }
        unarchiver.requiresSecureCoding = true
        return CKRecord(coder: unarchiver)
    }
}
