import CloudKit
import Foundation

/// An app with an automatic sync engine that keeps a copy of each zone of its database, and saves and deletes records in the zone whose
/// share changes.
///
/// Its disk is one value, to which it writes with each state of the engine, so that it can end at any event.
actor MirrorApp: CKSyncEngineDelegate {
    /// What survives the app.
    private struct Stored: Codable {
        /// The stamps of the records of each zone.
        var zones: [String: [String: Int]] = [:]
        /// The system fields of the records of the zone in which the app saves.
        var lastKnown: [String: Data] = [:]
        var state: CKSyncEngine.State.Serialization?
    }

    private let history: History
    private let device: SimulatedDevice
    private let app: SimulatedDevice.Booted
    private let database: CKDatabase
    /// Saves and deletes in the zone whose share changes; nil: the user has no part in it.
    private let step: Step?
    /// The attempts to save that are under way, by stamp.
    private let saves = Shared<[Int: (attempt: Int, start: Int64)]>([:])
    /// The attempts to delete a record that were not answered.
    private var deletions: [String: [Int]] = [:]
    private var memory: Stored
    private var engine: CKSyncEngine?

    init(_ device: SimulatedDevice, _ app: SimulatedDevice.Booted, in history: History) throws {
        self.history = history
        self.device = device
        self.app = app
        database = app.container.database(with: history.mirrorScope(of: device))
        step = history.circle(of: device).map { place in
            Step(history: history, device: device, app: app, place: place, chance: history.chance)
        }
        memory = try device.mirrorDisk.value.map { try JSONDecoder().decode(Stored.self, from: $0) } ?? Stored()
    }

    /// Starts syncing.
    func start() {
        guard engine == nil else { return }
        let engine = CKSyncEngine(
            CKSyncEngine.Configuration(database: database, stateSerialization: memory.state, delegate: self))
        self.engine = engine
        // They may have taken effect before the app ended, and are sent again.
        for case .deleteRecord(let id) in engine.state.pendingRecordZoneChanges { beginDeletion(id.recordName) }
    }

    var hasPending: Bool { engine?.state.pendingRecordZoneChanges.isEmpty == false }

    /// Syncs now.
    func sync() async throws {
        try await engine?.sendChanges()
        try await engine?.fetchChanges()
    }

    /// Saves a record of the zone whose share changes.
    func write(_ name: String) {
        guard let step else { return }
        engine?.state.add(pendingRecordZoneChanges: [.saveRecord(step.place.id(name))])
    }

    /// Deletes a record of the zone whose share changes.
    func remove(_ name: String) {
        guard let step else { return }
        beginDeletion(name)
        engine?.state.add(pendingRecordZoneChanges: [.deleteRecord(step.place.id(name))])
    }

    private func beginDeletion(_ name: String) {
        guard let step else { return }
        let attempt = history.ledger.begin(
            step.place.cell(name), stamp: nil, by: device.name, at: history.trail.time)
        deletions[name, default: []].append(attempt)
    }

    /// The names of the zones that the app knows.
    var zoneNames: [String] { memory.zones.keys.map { String($0.drop { $0 != "/" }.dropFirst()) } }

    /// Returns the stamps of a zone; nil: the app does not know it.
    func stamps(in zoneID: CKRecordZone.ID) -> [String: Int]? { memory.zones[Self.key(zoneID)] }

    private static func key(_ zoneID: CKRecordZone.ID) -> String { "\(zoneID.ownerName)/\(zoneID.zoneName)" }

    // MARK: CKSyncEngineDelegate

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        guard !app.network.isGone else { return }
        switch event {
        case .stateUpdate(let event):
            memory.state = event.stateSerialization
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            if let bytes = try? encoder.encode(memory) { device.mirrorDisk.value = bytes }
        case .accountChange(let event):
            if case .signIn = event.changeType { return }
            let isExpected =
                switch event.changeType {
                case .signOut: history.has(.sessions)
                case .switchAccounts: history.has(.visits)
                default: false
                }
            memory.zones = [:]
            memory.lastKnown = [:]
            if isExpected { return }
            history.violated("the mirror of \(device.name): the account changed: \(event.changeType)")
        case .fetchedDatabaseChanges(let event):
            for deletion in event.deletions {
                memory.zones[Self.key(deletion.zoneID)] = nil
                if deletion.zoneID == step?.place.zoneID { memory.lastKnown = [:] }
            }
            for modification in event.modifications {
                let key = Self.key(modification.zoneID)
                memory.zones[key] = memory.zones[key] ?? [:]
            }
        case .fetchedRecordZoneChanges(let event):
            for modification in event.modifications { take(modification.record) }
            for deletion in event.deletions { forget(deletion.recordID) }
        case .sentRecordZoneChanges(let event): take(event, syncEngine)
        case .didFetchRecordZoneChanges(let event):
            // Deletions were forgotten: what does not come again is gone.
            guard event.error?.code == .changeTokenExpired else { return }
            memory.zones[Self.key(event.zoneID)] = [:]
            if event.zoneID == step?.place.zoneID { memory.lastKnown = [:] }
        default: break
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        guard !app.network.isGone, let step else { return nil }
        // The engine asks for all records again that it has met in a cloud that was restored; the app writes in one zone, and neither its root
        // nor its share.
        let others = syncEngine.state.pendingRecordZoneChanges.filter { change in
            change.recordID.zoneID != step.place.zoneID
                || ["Root", "Share", "cloud"].contains { change.recordID.recordName.hasPrefix($0) }
        }
        syncEngine.state.remove(pendingRecordZoneChanges: others)
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        let known = memory.lastKnown
        let (history, saves) = (history, saves)
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { id in
            let record = known[id.recordName].flatMap(NotesApp.record) ?? step.newRecord(id.recordName)
            let stamp = history.ledger.makeStamp()
            let (base, now) = (record.recordChangeTag, history.trail.time)
            step.fill(record, with: stamp)
            let attempt = history.ledger.begin(
                step.place.cell(id.recordName), stamp: stamp, base: base, by: step.device.name, at: now)
            saves.value[stamp] = (attempt, now)
            return record
        }
    }

    // MARK: What happened

    private func take(_ record: CKRecord) {
        let id = record.recordID
        history.observe(record, at: history.place(id.zoneID, of: device), keys: nil)
        guard record.recordType == "Item", !Place.isRoot(id.recordName) else { return }
        remember(record)
    }

    private func remember(_ record: CKRecord) {
        let id = record.recordID
        memory.zones[Self.key(id.zoneID), default: [:]][id.recordName] = record["stamp"] as? Int ?? 0
        if id.zoneID == step?.place.zoneID { memory.lastKnown[id.recordName] = NotesApp.systemFields(record) }
    }

    private func forget(_ id: CKRecord.ID) {
        memory.zones[Self.key(id.zoneID)]?[id.recordName] = nil
        if id.zoneID == step?.place.zoneID { memory.lastKnown[id.recordName] = nil }
    }

    private func take(_ event: CKSyncEngine.Event.SentRecordZoneChanges, _ syncEngine: CKSyncEngine) {
        guard let step else { return }
        for record in event.savedRecords {
            if let stamp = record["stamp"] as? Int, let save = saves.value.removeValue(forKey: stamp) {
                step.settle([save.attempt], .success(()))
                step.judgePermission(record.recordID.recordName, since: save.start)
            }
            takeIfNewer(record)
        }
        for failed in event.failedRecordSaves {
            let id = failed.record.recordID
            if let stamp = failed.record["stamp"] as? Int, let save = saves.value.removeValue(forKey: stamp) {
                step.settle([save.attempt], .failure(failed.error))
            }
            history.expect(failed.error, of: "engine", at: step.place)
            switch failed.error.code {
            case .serverRecordChanged:
                guard let record = failed.error.serverRecord else { continue }
                history.observe(record, at: step.place, keys: nil, hasContents: false)
                takeIfNewer(record)
                syncEngine.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
            case .unknownItem:
                forget(id)
                syncEngine.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
            default: break
            }
        }
        for id in event.deletedRecordIDs {
            endDeletion(id.recordName)
            forget(id)
        }
        // The engine tries most of them again.
        for (_, error) in event.failedRecordDeletes.sorted(by: { $0.key.recordName < $1.key.recordName }) {
            history.expect(error, of: "engine", at: step.place)
        }
    }

    /// Takes a record that answered a save: what was fetched meanwhile can be newer, and one that others have saved since comes as it was
    /// sent.
    private func takeIfNewer(_ record: CKRecord) {
        let known =
            memory.lastKnown[record.recordID.recordName].flatMap(NotesApp.record)?.modificationDate ?? .distantPast
        guard let date = record.modificationDate, date > known else { return }
        remember(record)
    }

    /// Notes that the first attempt to delete a record that was not answered has taken effect.
    private func endDeletion(_ name: String) {
        guard let attempt = deletions[name]?.first else { return }
        deletions[name]?.removeFirst()
        step?.settle([attempt], .success(()))
    }
}

extension CKSyncEngine.PendingRecordZoneChange {
    /// The record that is saved or deleted.
    fileprivate var recordID: CKRecord.ID {
        switch self {
        case .saveRecord(let id), .deleteRecord(let id): id
        @unknown default: CKRecord.ID(recordName: "unknown")
        }
    }
}
