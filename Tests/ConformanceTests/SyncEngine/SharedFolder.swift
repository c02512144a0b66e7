import CloudKit
import Foundation

/// An app on one device that keeps the notes of a shared folder by a sync engine: each has a sealed text and a file.
actor SharedFolder: CKSyncEngineDelegate {
    struct Note: Hashable, Sendable {
        var text: String
        var file: [UInt8]
    }

    private let database: CKDatabase
    private let files: TestFiles
    private var engine: CKSyncEngine?
    /// The notes that are still to be written.
    private var outbox: [CKRecord.ID: Note] = [:]
    private var lastKnown: [CKRecord.ID: Data] = [:]
    private(set) var notes: [String: Note] = [:]
    private(set) var zones: Set<CKRecordZone.ID> = []
    private(set) var zonesGone: [CKRecordZone.ID: CKDatabase.DatabaseChange.Deletion.Reason] = [:]
    private(set) var undelivered: [CKError.Code] = []
    private(set) var failures: [CKError.Code] = []

    init(_ database: CKDatabase, _ files: TestFiles) {
        self.database = database
        self.files = files
    }

    var syncEngine: CKSyncEngine {
        if let engine { return engine }
        var configuration = CKSyncEngine.Configuration(database: database, stateSerialization: nil, delegate: self)
        configuration.automaticallySync = false
        let fresh = CKSyncEngine(configuration)
        engine = fresh
        return fresh
    }

    func fetch() async throws { try await syncEngine.fetchChanges() }

    func send() async throws { try await syncEngine.sendChanges() }

    func write(_ name: String, _ note: Note, in zone: CKRecordZone.ID) {
        let id = CKRecord.ID(recordName: name, zoneID: zone)
        outbox[id] = note
        syncEngine.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
    }

    func remove(_ name: String, in zone: CKRecordZone.ID) {
        let id = CKRecord.ID(recordName: name, zoneID: zone)
        notes[name] = nil
        syncEngine.state.add(pendingRecordZoneChanges: [.deleteRecord(id)])
    }

    // MARK: CKSyncEngineDelegate

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch event {
        case .fetchedDatabaseChanges(let event):
            for modification in event.modifications { zones.insert(modification.zoneID) }
            for deletion in event.deletions {
                zones.remove(deletion.zoneID)
                zonesGone[deletion.zoneID] = deletion.reason
                notes = [:]
                lastKnown = lastKnown.filter { $0.key.zoneID != deletion.zoneID }
            }
        case .fetchedRecordZoneChanges(let event):
            for modification in event.modifications { take(modification.record) }
            for deletion in event.deletions { notes[deletion.recordID.recordName] = nil }
        case .didFetchRecordZoneChanges(let event):
            if let error = event.error { undelivered.append(error.code) }
        case .sentRecordZoneChanges(let event):
            for record in event.savedRecords {
                outbox[record.recordID] = nil
                remember(record)
            }
            for failure in event.failedRecordSaves { failures.append(failure.error.code) }
            for error in event.failedRecordDeletes.values { failures.append(error.code) }
        default: break
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        let (outbox, lastKnown, files) = (outbox, lastKnown, files)
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { id in
            guard let note = outbox[id] else { return nil }
            let record =
                lastKnown[id].flatMap { Self.record($0) } ?? CKRecord(recordType: "Note", recordID: id)
            record.encryptedValues["secret"] = note.text
            record["file"] = try? files.asset(UUID().uuidString, containing: note.file)
            record.setParent(CKRecord.ID(recordName: "Folder", zoneID: id.zoneID))
            return record
        }
    }

    private func take(_ record: CKRecord) {
        remember(record)
        guard record.recordType == "Note", let text = record.encryptedValues["secret"] as? String else { return }
        let file = record["file"] == nil ? [] : (try? contents(record["file"])) ?? []
        notes[record.recordID.recordName] = Note(text: text, file: file)
    }

    private func remember(_ record: CKRecord) {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: archiver)
        lastKnown[record.recordID] = archiver.encodedData
    }

    private static func record(_ systemFields: Data) -> CKRecord? {
        guard let unarchiver = try? NSKeyedUnarchiver(forReadingFrom: systemFields) else { return nil }
        unarchiver.requiresSecureCoding = true
        return CKRecord(coder: unarchiver)
    }
}
