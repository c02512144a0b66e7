import CloudKit

/// An app that makes the calls of Apple's sample for the sync engine, in its order: people with a name and the time of their last edit,
/// both encrypted, the later edit winning; a system-fields archive for each; an engine that is made lazily and once more by a task.
actor AddressBook: CKSyncEngineDelegate {
    struct Person: Hashable, Codable, Sendable {
        var id = UUID().uuidString
        var name: String
        var edited: Date

        var recordID: CKRecord.ID { CKRecord.ID(recordName: id, zoneID: AddressBook.zoneID) }
    }

    /// The moment at which a second engine takes the place of the first.
    enum Replacement: Sendable, CustomStringConvertible {
        /// The engine is made once.
        case never
        /// A task that begins with the app makes an engine.
        case inTask
        /// An engine is made just before an event, or a use of the engine, of this number.
        case before(Int)

        var description: String {
            switch self {
            case .never: "no replacement"
            case .inTask: "replaced in a task"
            case .before(let point): "replaced before point \(point)"
            }
        }
    }

    static let zoneID = CKRecordZone.ID(zoneName: "Contacts")

    private let database: CKDatabase
    private let replacement: Replacement
    private var point = 0
    private var engine: CKSyncEngine?
    private(set) var people: [String: Person] = [:]
    private var archives: [String: Data] = [:]
    private var stored: CKSyncEngine.State.Serialization?

    init(_ database: CKDatabase, _ replacement: Replacement) {
        self.database = database
        self.replacement = replacement
        guard case .inTask = replacement else { return }
        Task { await makeEngine() }
    }

    var syncEngine: CKSyncEngine {
        pass()
        return currentEngine
    }

    private var currentEngine: CKSyncEngine { engine ?? makeEngine() }

    @discardableResult private func makeEngine() -> CKSyncEngine {
        var configuration = CKSyncEngine.Configuration(
            database: database, stateSerialization: stored, delegate: self)
        configuration.automaticallySync = false
        let made = CKSyncEngine(configuration)
        engine = made
        return made
    }

    private func pass() {
        if case .before(point) = replacement { makeEngine() }
        point += 1
    }

    func archivedRecord(of id: String) -> CKRecord? { archives[id].flatMap(Self.record) }

    private static func record(_ archive: Data) -> CKRecord? {
        guard let unarchiver = try? NSKeyedUnarchiver(forReadingFrom: archive) else { return nil }
        unarchiver.requiresSecureCoding = true
        return CKRecord(coder: unarchiver)
    }

    func save(_ edited: [Person]) {
        for person in edited { people[person.id] = person }
        syncEngine.state.add(pendingRecordZoneChanges: edited.map { .saveRecord($0.recordID) })
    }

    // MARK: CKSyncEngineDelegate

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        pass()
        switch event {
        case .stateUpdate(let update): stored = update.stateSerialization
        case .accountChange(let change): follow(change)
        case .fetchedDatabaseChanges(let changes):
            if changes.deletions.contains(where: { $0.zoneID == Self.zoneID }) { people = [:] }
        case .fetchedRecordZoneChanges(let changes):
            for modification in changes.modifications { merge(modification.record) }
            for deletion in changes.deletions { people[deletion.recordID.recordName] = nil }
        case .sentRecordZoneChanges(let sent): handle(sent)
        default: break
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        let (people, archives) = (people, archives)
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { id in
            guard let person = people[id.recordName] else {
                syncEngine.state.remove(pendingRecordZoneChanges: [.saveRecord(id)])
                return nil
            }
            let record = archives[id.recordName].flatMap(Self.record) ?? CKRecord(recordType: "Contact", recordID: id)
            record.encryptedValues["name"] = person.name
            record.encryptedValues["userModificationDate"] = person.edited
            return record
        }
    }

    // MARK: Events

    private func follow(_ change: CKSyncEngine.Event.AccountChange) {
        guard case .signIn = change.changeType else {
            (people, archives, stored) = ([:], [:], nil)
            makeEngine()
            return
        }
        let changes = people.values.map { CKSyncEngine.PendingRecordZoneChange.saveRecord($0.recordID) }
        let zones =
            changes.isEmpty ? [] : [CKSyncEngine.PendingDatabaseChange.saveZone(CKRecordZone(zoneID: Self.zoneID))]
        currentEngine.state.add(pendingDatabaseChanges: zones)
        currentEngine.state.add(pendingRecordZoneChanges: changes)
    }

    private func handle(_ sent: CKSyncEngine.Event.SentRecordZoneChanges) {
        for record in sent.savedRecords where people[record.recordID.recordName] != nil { archive(record) }
        var zones: [CKSyncEngine.PendingDatabaseChange] = []
        var records: [CKSyncEngine.PendingRecordZoneChange] = []
        for failure in sent.failedRecordSaves {
            let id = failure.record.recordID
            switch failure.error.code {
            case .serverRecordChanged:
                guard let server = failure.error.serverRecord else { continue }
                merge(server)
            case .zoneNotFound:
                zones.append(.saveZone(CKRecordZone(zoneID: id.zoneID)))
                archives[id.recordName] = nil
            case .unknownItem: archives[id.recordName] = nil
            default: continue
            }
            records.append(.saveRecord(id))
        }
        currentEngine.state.add(pendingDatabaseChanges: zones)
        currentEngine.state.add(pendingRecordZoneChanges: records)
    }

    /// The later edit wins.
    private func merge(_ record: CKRecord) {
        let id = record.recordID.recordName
        let edited = record.encryptedValues["userModificationDate"] as? Date ?? .distantPast
        if edited > people[id]?.edited ?? .distantPast {
            people[id] = Person(id: id, name: record.encryptedValues["name"] as? String ?? "", edited: edited)
        }
        archive(record)
    }

    /// Keeps the system fields of a record, unless newer ones are kept.
    private func archive(_ record: CKRecord) {
        let id = record.recordID.recordName
        if let known = archivedRecord(of: id)?.modificationDate {
            guard let date = record.modificationDate, known < date else { return }
        }
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: archiver)
        archives[id] = archiver.encodedData
    }
}
