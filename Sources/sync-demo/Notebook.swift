import CloudKit

/// The app on one device, with the structure of Apple's sample for the sync engine.
///
/// Its notes are stored together with the engine's state, so that it can be ended at any moment and continue from there.
actor Notebook: CKSyncEngineDelegate {
    struct Note: Codable, Hashable {
        var text: String
        /// A counter of edits on all devices; the higher one wins a conflict.
        var edit: Int
    }

    /// The state that survives the process.
    struct Disk: Codable {
        var notes: [String: Note] = [:]
        var lastKnown: [String: Data] = [:]
        var state: CKSyncEngine.State.Serialization?
    }

    static let zone = CKRecordZone(zoneName: "Notes")

    private let database: CKDatabase
    private(set) var disk: Disk
    /// The states of notes in the cloud that met an edit of this device that was not yet saved.
    private(set) var conflicts: Set<String> = []
    private(set) var refusals = 0
    /// The number of times that the state was stored.
    private(set) var stateCount = 0
    private var hasFetched = false
    private var engine: CKSyncEngine?

    init(database: CKDatabase, disk: Disk = Disk()) {
        self.database = database
        self.disk = disk
    }

    var notes: [String: Note] { disk.notes }

    /// Whether the zone exists and the first fetch is done.
    var isReady: Bool { hasFetched && engine?.state.pendingDatabaseChanges.isEmpty == true }

    /// The number of changes that are not yet saved in the cloud.
    var pendingCount: Int { engine?.state.pendingRecordZoneChanges.count ?? 0 }

    /// Starts automatic syncing.
    func start() {
        guard engine == nil else { return }
        engine = CKSyncEngine(
            CKSyncEngine.Configuration(database: database, stateSerialization: disk.state, delegate: self))
    }

    /// Writes a note and schedules its upload.
    func write(_ name: String, _ text: String) {
        disk.notes[name] = Note(text: text, edit: (disk.notes[name]?.edit ?? 0) + 1)
        engine?.state.add(pendingRecordZoneChanges: [.saveRecord(id(name))])
    }

    /// Ends the app abruptly, as the system does.
    ///
    /// - Returns: The stored state.
    func end() -> Disk {
        engine = nil
        return disk
    }

    private func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: Self.zone.zoneID) }

    // MARK: CKSyncEngineDelegate

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch event {
        case .stateUpdate(let event):
            disk.state = event.stateSerialization
            stateCount += 1
        case .accountChange(let event):
            guard case .signIn = event.changeType else { break }
            syncEngine.state.add(pendingDatabaseChanges: [.saveZone(Self.zone)])
            syncEngine.state.add(pendingRecordZoneChanges: disk.notes.keys.sorted().map { .saveRecord(id($0)) })
        case .fetchedRecordZoneChanges(let event):
            let pending = syncEngine.state.pendingRecordZoneChanges
            for modification in event.modifications {
                let record = modification.record
                if pending.contains(.saveRecord(record.recordID)) { note(conflictWith: record) }
                merge(record)
            }
            for deletion in event.deletions {
                disk.notes[deletion.recordID.recordName] = nil
                disk.lastKnown[deletion.recordID.recordName] = nil
            }
        case .sentRecordZoneChanges(let event):
            for record in event.savedRecords { remember(record) }
            for failed in event.failedRecordSaves { resolve(failed, syncEngine) }
        case .didFetchChanges:
            hasFetched = true
        default:
            break
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        let disk = disk
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { id in
            guard let note = disk.notes[id.recordName] else { return nil }
            let record =
                disk.lastKnown[id.recordName].flatMap { Self.record($0) } ?? CKRecord(recordType: "Note", recordID: id)
            record["text"] = note.text
            record["edit"] = note.edit
            return record
        }
    }

    // MARK: Outcomes

    private func resolve(
        _ failed: CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave, _ syncEngine: CKSyncEngine
    ) {
        switch failed.error.code {
        case .serverRecordChanged:
            guard let server = failed.error.serverRecord else { return }
            note(conflictWith: server)
            merge(server)
            syncEngine.state.add(pendingRecordZoneChanges: [.saveRecord(failed.record.recordID)])
        case .zoneNotFound:
            disk.lastKnown[failed.record.recordID.recordName] = nil
            syncEngine.state.add(pendingDatabaseChanges: [.saveZone(Self.zone)])
            syncEngine.state.add(pendingRecordZoneChanges: [.saveRecord(failed.record.recordID)])
        default:
            // The engine retries after faults of the network and the server: the change stays pending.
            refusals += 1
        }
    }

    /// A conflict is reported by the save or, if the other device's edit was fetched before, seen then; each counts once.
    private func note(conflictWith record: CKRecord) {
        let name = record.recordID.recordName
        guard let mine = disk.notes[name], mine.text != record["text"] as? String else { return }
        conflicts.insert("\(name) \(record.recordChangeTag ?? "")")
    }

    /// Keeps the later edit; of two equally late ones the greater text, so that both devices choose the same.
    private func merge(_ record: CKRecord) {
        remember(record)
        let name = record.recordID.recordName
        guard let text = record["text"] as? String, let edit = record["edit"] as? Int else { return }
        if let mine = disk.notes[name], (mine.edit, mine.text) > (edit, text) { return }
        disk.notes[name] = Note(text: text, edit: edit)
    }

    private func remember(_ record: CKRecord) {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: archiver)
        disk.lastKnown[record.recordID.recordName] = archiver.encodedData
    }

    private static func record(_ systemFields: Data) -> CKRecord? {
        guard let unarchiver = try? NSKeyedUnarchiver(forReadingFrom: systemFields) else { return nil }
        unarchiver.requiresSecureCoding = true
        return CKRecord(coder: unarchiver)
    }
}
