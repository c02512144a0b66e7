import CloudKit
import Foundation

/// A notes app with an automatic sync engine, written like Apple's sample. Its disk is one value, to which it writes with each state of
/// the engine, and with what has no event of its own, so that it can end at any event.
actor NotesApp: CKSyncEngineDelegate {
    struct Note: Codable, Hashable {
        var text: String
        /// Grows with each edit, across all devices: the larger one wins a conflict.
        var edit: Int
    }

    /// What survives the app.
    struct Stored: Codable {
        var notes: [String: Note] = [:]
        var lastKnown: [String: Data] = [:]
        /// The latest edit of each note that the cloud has acknowledged.
        var acknowledged: [String: Int] = [:]
        var state: CKSyncEngine.State.Serialization?
        /// The notes that were known when the token of the zone expired and have not come again: they may have been deleted.
        var unseen: Set<String>?
        /// The notes that the cloud had no room for.
        var refused: Set<String>?
        /// Whether the engine has reported that the user signed out, and no user since.
        var isSignedOut: Bool?
    }

    static let zone = CKRecordZone(zoneName: "Notes")

    private let disk: Shared<Data?>
    private let network: SimulatedNetwork
    private let database: CKDatabase
    private let endings: NotesEndings?
    private var memory: Stored
    private var engine: CKSyncEngine?
    private(set) var failures: Set<CKError.Code> = []
    /// Sealed values that did not open or were not as sealed.
    private(set) var damage: [String] = []

    init(_ database: CKDatabase, disk: Shared<Data?>, network: SimulatedNetwork, endings: NotesEndings?) throws {
        self.endings = endings
        self.database = database
        self.disk = disk
        self.network = network
        memory = try disk.value.map { try JSONDecoder().decode(Stored.self, from: $0) } ?? Stored()
    }

    /// Starts syncing.
    func start() {
        guard engine == nil else { return }
        engine = CKSyncEngine(
            CKSyncEngine.Configuration(database: database, stateSerialization: memory.state, delegate: self))
    }

    var notes: [String: Note] { memory.notes }
    var acknowledged: [String: Int] { memory.acknowledged }
    /// Whether what the app has may belong to any user who signs in next.
    var isSignedOut: Bool { memory.isSignedOut == true }
    var hasPending: Bool {
        guard let state = engine?.state else { return true }
        return !state.pendingRecordZoneChanges.isEmpty || !state.pendingDatabaseChanges.isEmpty
            || memory.refused?.isEmpty == false
    }

    /// Syncs now.
    func sync() async throws {
        if let refused = memory.refused {
            memory.refused = nil
            engine?.state.add(pendingRecordZoneChanges: refused.sorted().map { .saveRecord(id($0)) })
        }
        try await engine?.sendChanges()
        try await engine?.fetchChanges()
    }

    func write(_ name: String, edit: Int) {
        memory.notes[name] = Note(text: "text \(edit)", edit: edit)
        engine?.state.add(pendingRecordZoneChanges: [.saveRecord(id(name))])
    }

    func remove(_ name: String) {
        memory.notes[name] = nil
        memory.lastKnown[name] = nil
        engine?.state.add(pendingRecordZoneChanges: [.deleteRecord(id(name))])
    }

    /// Removes all notes and their zone.
    func removeAll() {
        memory.notes = [:]
        memory.lastKnown = [:]
        endings?.isAskedFor.value = true
        engine?.state.add(pendingDatabaseChanges: [.deleteZone(Self.zone.zoneID)])
    }

    /// Sends all notes, to a zone that the cloud may not have.
    private func sendAll(_ syncEngine: CKSyncEngine) {
        syncEngine.state.add(pendingDatabaseChanges: [.saveZone(Self.zone)])
        syncEngine.state.add(pendingRecordZoneChanges: memory.notes.keys.sorted().map { .saveRecord(id($0)) })
    }

    private func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: Self.zone.zoneID) }

    // MARK: CKSyncEngineDelegate

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        guard !network.isGone else { return }
        switch event {
        case .stateUpdate(let event):
            memory.state = event.stateSerialization
            store()
        case .accountChange(let event):
            if case .signOut = event.changeType { memory.isSignedOut = true } else { memory.isSignedOut = nil }
            if case .signIn = event.changeType {
                sendAll(syncEngine)
            } else if case .signOut = event.changeType, endings?.signsOut == true {
                forgetAll()
            } else if case .switchAccounts = event.changeType, endings?.hasVisits == true {
                forgetAll()
            } else {
                damage.append("the account changed: \(event.changeType)")
            }
        case .didFetchRecordZoneChanges(let event) where event.zoneID == Self.zone.zoneID:
            if event.error?.code == .changeTokenExpired {
                memory.unseen = Set(memory.lastKnown.keys)
            } else if event.error == nil, let unseen = memory.unseen {
                memory.unseen = nil
                for name in unseen.sorted() { takeDeletion(of: name) }
                store()
            }
        case .fetchedRecordZoneChanges(let event):
            for modification in event.modifications { merge(modification.record) }
            for deletion in event.deletions { takeDeletion(of: deletion.recordID.recordName) }
        case .fetchedDatabaseChanges(let event):
            for deletion in event.deletions where deletion.zoneID == Self.zone.zoneID {
                if endings == nil { damage.append("the zone was deleted") }
                memory.unseen = nil
                memory.lastKnown = [:]
                switch deletion.reason {
                case .encryptedDataReset: sendAll(syncEngine)
                default: memory.notes = [:]
                }
            }
        case .sentRecordZoneChanges(let event): take(event, syncEngine)
        case .sentDatabaseChanges(let event):
            for error in event.failedZoneSaves.map(\.error) { note(error) }
            if event.deletedZoneIDs.contains(Self.zone.zoneID) {
                endings?.isAskedFor.value = false
                endings?.note()
            }
        default: break
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        guard !network.isGone else { return nil }
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        let memory = memory
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { id in
            guard let note = memory.notes[id.recordName] else {
                syncEngine.state.remove(pendingRecordZoneChanges: [.saveRecord(id)])
                return nil
            }
            let record =
                memory.lastKnown[id.recordName].flatMap(Self.record)
                ?? CKRecord(recordType: "Note", recordID: id)
            record["edit"] = note.edit
            record.encryptedValues["secret"] = note.text
            return record
        }
    }

    // MARK: What happened

    private func take(_ event: CKSyncEngine.Event.SentRecordZoneChanges, _ syncEngine: CKSyncEngine) {
        for record in event.savedRecords {
            let name = record.recordID.recordName
            memory.unseen?.remove(name)
            if memory.notes[name] != nil { remember(record) }
            guard let edit = record["edit"] as? Int else { continue }
            memory.acknowledged[name] = max(memory.acknowledged[name] ?? 0, edit)
        }
        var again: [CKSyncEngine.PendingRecordZoneChange] = []
        for failed in event.failedRecordSaves {
            let id = failed.record.recordID
            note(failed.error)
            switch failed.error.code {
            case .serverRecordChanged:
                guard let record = failed.error.serverRecord else { continue }
                merge(record)
                again.append(.saveRecord(id))
            case .zoneNotFound where failed.error.userInfo[CKErrorUserDidResetEncryptedDataKey] != nil:
                memory.lastKnown = [:]
                sendAll(syncEngine)
            case .quotaExceeded: memory.refused = (memory.refused ?? []).union([id.recordName])
            case .zoneNotFound, .userDeletedZone:
                syncEngine.state.add(pendingDatabaseChanges: [.saveZone(Self.zone)])
                memory.lastKnown[id.recordName] = nil
                again.append(.saveRecord(id))
            case .unknownItem:
                memory.lastKnown[id.recordName] = nil
                again.append(.saveRecord(id))
            default: break
            }
        }
        for error in event.failedRecordDeletes.values { note(error) }
        syncEngine.state.add(pendingRecordZoneChanges: again)
    }

    private func note(_ error: CKError) {
        if !error.isForWantOfRoom { failures.insert(error.code) }
    }

    private func store() {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        if let bytes = try? encoder.encode(memory) { disk.value = bytes }
    }

    private func forgetAll() {
        memory.notes = [:]
        memory.lastKnown = [:]
        memory.unseen = nil
        memory.refused = nil
    }

    private func takeDeletion(of name: String) {
        memory.notes[name] = nil
        memory.lastKnown[name] = nil
    }

    /// The later edit wins; the known state of the cloud's version always advances.
    private func merge(_ record: CKRecord) {
        guard record.recordType == "Note" else { return }
        let name = record.recordID.recordName
        memory.unseen?.remove(name)
        remember(record)
        guard let note = Self.note(record), note.text == "text \(note.edit)" else {
            damage.append("\(name): \(record["edit"] ?? -1), \(record.encryptedValues["secret"] ?? "-")")
            return
        }
        if let mine = memory.notes[name], mine.edit >= note.edit {
            // Another device has sent what it had of a zone that ended.
            if endings != nil, mine.edit > note.edit {
                engine?.state.add(pendingRecordZoneChanges: [.saveRecord(record.recordID)])
            }
            return
        }
        memory.notes[name] = note
    }

    private func remember(_ record: CKRecord) {
        memory.lastKnown[record.recordID.recordName] = Self.systemFields(record)
    }

    /// Returns what an app keeps of a record that the cloud has.
    static func systemFields(_ record: CKRecord) -> Data {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: archiver)
        return archiver.encodedData
    }

    /// Returns the note in a record; nil if its sealed text is missing.
    static func note(_ record: CKRecord) -> Note? {
        guard let text = record.encryptedValues["secret"] as? String, let edit = record["edit"] as? Int else {
            return nil
        }
        return Note(text: text, edit: edit)
    }

    /// Returns the record with these system fields.
    static func record(_ systemFields: Data) -> CKRecord? {
        guard let unarchiver = try? NSKeyedUnarchiver(forReadingFrom: systemFields) else { return nil }
        unarchiver.requiresSecureCoding = true
        return CKRecord(coder: unarchiver)
    }
}
