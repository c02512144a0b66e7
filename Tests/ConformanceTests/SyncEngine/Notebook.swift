import CloudKit

/// An app on one device, written like Apple's sample for the sync engine: notes that are synced with the cloud.
///
/// Its disk is one value: memory is written there together with the engine's state, and nothing else is. So it can be
/// killed at any event and started again from the disk.
actor Notebook: CKSyncEngineDelegate {
    struct Note: Codable, Hashable {
        var text: String
        /// Grows with each edit, across all devices: the larger one wins a conflict.
        var edit: Int
    }

    /// The state that survives the process.
    struct Disk: Codable {
        var notes: [String: Note] = [:]
        var lastKnown: [String: Data] = [:]
        var state: CKSyncEngine.State.Serialization?
    }

    static let zone = CKRecordZone(zoneName: "Notes")

    let database: CKDatabase
    private let automaticallySync: Bool
    /// Whether texts are encrypted.
    private let isSealed: Bool
    private(set) var disk: Data
    private(set) var notes: [String: Note] = [:]
    private var lastKnown: [String: Data] = [:]
    private(set) var log: [String] = []
    private(set) var failures: [CKError.Code] = []
    /// The zones that were reported as deleted.
    private(set) var deletions: [CKDatabase.DatabaseChange.Deletion] = []
    private var engine: CKSyncEngine?
    /// The number of events until the process dies; nil: never.
    private var eventsLeft: Int?
    private let (stream, continuation) = AsyncStream.makeStream(of: CKSyncEngine.Event.self)

    init(_ database: CKDatabase, disk: Data? = nil, automaticallySync: Bool = false, isSealed: Bool = false) throws {
        self.database = database
        self.isSealed = isSealed
        self.automaticallySync = automaticallySync
        let disk = try disk ?? JSONEncoder().encode(Disk())
        self.disk = disk
        let known = try JSONDecoder().decode(Disk.self, from: disk)
        notes = known.notes
        lastKnown = known.lastKnown
    }

    /// Lazily, as the sample does it.
    var syncEngine: CKSyncEngine {
        if let engine { return engine }
        let state = try? JSONDecoder().decode(Disk.self, from: disk).state
        var configuration = CKSyncEngine.Configuration(
            database: database, stateSerialization: state, delegate: self)
        configuration.automaticallySync = automaticallySync
        let fresh = CKSyncEngine(configuration)
        engine = fresh
        return fresh
    }

    nonisolated var events: AsyncStream<CKSyncEngine.Event> { stream }

    var isDead: Bool { eventsLeft == 0 }

    func die(after events: Int) { eventsLeft = events }

    func forgetLog() { log = [] }

    // MARK: Edits

    func write(_ name: String, _ text: String, edit: Int) {
        notes[name] = Note(text: text, edit: edit)
        syncEngine.state.add(pendingRecordZoneChanges: [.saveRecord(id(name))])
    }

    func remove(_ name: String) {
        notes[name] = nil
        lastKnown[name] = nil
        syncEngine.state.add(pendingRecordZoneChanges: [.deleteRecord(id(name))])
    }

    /// Loses a note, as an app with a small cache does.
    func forget(_ name: String) {
        notes[name] = nil
        lastKnown[name] = nil
    }

    private func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: Self.zone.zoneID) }

    private func persist(_ state: CKSyncEngine.State.Serialization) {
        guard let bytes = try? JSONEncoder().encode(Disk(notes: notes, lastKnown: lastKnown, state: state)) else {
            return
        }
        disk = bytes
    }

    // MARK: CKSyncEngineDelegate

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        guard !isDead else { return }
        eventsLeft = eventsLeft.map { $0 - 1 }
        log.append("\(event)")

        switch event {
        case .stateUpdate(let event):
            persist(event.stateSerialization)
        case .accountChange(let event):
            handleAccountChange(event)
        case .fetchedDatabaseChanges(let event):
            deletions += event.deletions
            for deletion in event.deletions where deletion.zoneID == Self.zone.zoneID {
                notes = [:]
                lastKnown = [:]
            }
        case .fetchedRecordZoneChanges(let event):
            for modification in event.modifications {
                merge(modification.record)
            }
            for deletion in event.deletions {
                notes[deletion.recordID.recordName] = nil
                lastKnown[deletion.recordID.recordName] = nil
            }
        case .sentRecordZoneChanges(let event):
            handleSentRecordZoneChanges(event)
        case .sentDatabaseChanges(let event):
            failures += event.failedZoneSaves.map(\.error.code) + event.failedZoneDeletes.values.map(\.code)
        case .willFetchChanges, .willFetchRecordZoneChanges, .didFetchRecordZoneChanges, .didFetchChanges,
            .willSendChanges, .didSendChanges:
            break
        @unknown default:
            break
        }
        continuation.yield(event)
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        guard !isDead else { return nil }
        let scope = context.options.scope
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { scope.contains($0) }
        let notes = self.notes
        let lastKnown = self.lastKnown
        let isSealed = self.isSealed

        let batch = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { recordID in
            if let note = notes[recordID.recordName] {
                let record =
                    lastKnown[recordID.recordName].flatMap { Self.record($0) }
                    ?? CKRecord(recordType: "Note", recordID: recordID)
                if isSealed {
                    record.encryptedValues["text"] = note.text
                } else {
                    record["text"] = note.text
                }
                record["edit"] = note.edit
                return record
            } else {
                syncEngine.state.remove(pendingRecordZoneChanges: [.saveRecord(recordID)])
                return nil
            }
        }
        return batch
    }

    // MARK: What happened

    private func handleAccountChange(_ event: CKSyncEngine.Event.AccountChange) {
        switch event.changeType {
        case .signIn:
            let changes = notes.keys.sorted().map { CKSyncEngine.PendingRecordZoneChange.saveRecord(id($0)) }
            syncEngine.state.add(pendingDatabaseChanges: [.saveZone(Self.zone)])
            syncEngine.state.add(pendingRecordZoneChanges: changes)
        case .signOut, .switchAccounts:
            notes = [:]
            lastKnown = [:]
        @unknown default:
            break
        }
    }

    private func handleSentRecordZoneChanges(_ event: CKSyncEngine.Event.SentRecordZoneChanges) {
        var newPendingRecordZoneChanges = [CKSyncEngine.PendingRecordZoneChange]()
        var newPendingDatabaseChanges = [CKSyncEngine.PendingDatabaseChange]()
        for savedRecord in event.savedRecords where notes[savedRecord.recordID.recordName] != nil {
            remember(savedRecord)
        }
        for failedRecordSave in event.failedRecordSaves {
            let failedRecord = failedRecordSave.record
            let name = failedRecord.recordID.recordName
            failures.append(failedRecordSave.error.code)
            switch failedRecordSave.error.code {
            case .serverRecordChanged:
                guard let serverRecord = failedRecordSave.error.serverRecord else { continue }
                merge(serverRecord)
                newPendingRecordZoneChanges.append(.saveRecord(failedRecord.recordID))
            case .zoneNotFound:
                let zone = CKRecordZone(zoneID: failedRecord.recordID.zoneID)
                newPendingDatabaseChanges.append(.saveZone(zone))
                newPendingRecordZoneChanges.append(.saveRecord(failedRecord.recordID))
                lastKnown[name] = nil
            case .unknownItem:
                newPendingRecordZoneChanges.append(.saveRecord(failedRecord.recordID))
                lastKnown[name] = nil
            case .networkFailure, .networkUnavailable, .zoneBusy, .serviceUnavailable, .notAuthenticated,
                .operationCancelled:
                break
            default:
                break
            }
        }
        for error in event.failedRecordDeletes.values { failures.append(error.code) }
        syncEngine.state.add(pendingDatabaseChanges: newPendingDatabaseChanges)
        syncEngine.state.add(pendingRecordZoneChanges: newPendingRecordZoneChanges)
    }

    /// The later edit wins; the known state of the server's version always advances.
    private func merge(_ record: CKRecord) {
        let name = record.recordID.recordName
        remember(record)
        let text = isSealed ? record.encryptedValues["text"] as? String : record["text"] as? String
        guard let text, let edit = record["edit"] as? Int else { return }
        if let mine = notes[name], mine.edit >= edit { return }
        notes[name] = Note(text: text, edit: edit)
    }

    private func remember(_ record: CKRecord) {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: archiver)
        lastKnown[record.recordID.recordName] = archiver.encodedData
    }

    private static func record(_ systemFields: Data) -> CKRecord? {
        guard let unarchiver = try? NSKeyedUnarchiver(forReadingFrom: systemFields) else { return nil }
        unarchiver.requiresSecureCoding = true
        return CKRecord(coder: unarchiver)
    }
}
