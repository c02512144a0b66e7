import CloudKit
import CloudKitTesting
import Synchronization
import Testing

/// Feeds of several pages, each of which is asked for while the one before it is handled.
@Suite(.timeLimit(.minutes(20))) struct ManyPagesTests {
    private static let zone = CKRecordZone(zoneName: "Pages")
    /// Eight pages.
    private static let count = 3_200

    @Test func `B-SYN-01 B-CHG-11 every record of many pages comes once, and the state now and then`() async throws {
        try await ThrowawayCloud.run { cloud in
            let user = try await cloud.addUser("ada")
            let a = try await cloud.device(of: user).privateCloudDatabase
            try await a.save(Self.zone)
            for start in stride(from: 0, to: Self.count, by: 200) { try await Self.save(start..<start + 200, in: a) }
            let database = try await cloud.device(of: user).privateCloudDatabase
            let app = PageReader()
            try await Self.engine(database, app).fetchChanges()
            #expect(app.names.count == Self.count)
            #expect(Set(app.names).count == Self.count)
            // The first pages and the last one are followed by a state, others not: what it remembers grows with each.
            #expect(app.events.prefix(4) == [.page, .state, .page, .state])
            #expect(app.events.suffix(2) == [.page, .state])
            #expect(app.states.count < app.events.count { $0 == .page })

            // An app that ends after any of the states gets the rest, which begins where that state stands.
            let stored = try #require(app.states.dropLast().last)
            let known = app.names.prefix(stored.names)
            let later = PageReader()
            try await Self.engine(database, later, startingWith: stored.serialization).fetchChanges()
            #expect(Set(known).isDisjoint(with: later.names))
            #expect(known.count + later.names.count == Self.count)
            // After the last one there is nothing.
            let last = PageReader()
            try await Self.engine(database, last, startingWith: app.states.last?.serialization).fetchChanges()
            #expect(last.names.isEmpty)
        }
    }

    @Test func `B-CHG-14 a record that changes while a page is handled comes in its newest state`() async throws {
        try await ThrowawayCloud.run { cloud in
            let user = try await cloud.addUser("ada")
            let a = try await cloud.device(of: user).privateCloudDatabase
            try await a.save(Self.zone)
            for start in stride(from: 0, to: 600, by: 200) { try await Self.save(start..<start + 200, in: a) }
            let database = try await cloud.device(of: user).privateCloudDatabase
            let app = PageReader { page in
                guard page == 1 else { return }
                // The next page may be on its way already; then the change comes with the fetch after this one.
                try? await Self.save(550..<560, in: a, text: "changed")
            }
            let engine = try await Self.engine(database, app)
            try await engine.fetchChanges()
            try await engine.fetchChanges()
            #expect(app.texts.count == 600)
            #expect((550..<560).allSatisfy { app.texts["r\($0)"] == "changed" })
        }
    }

    @Test func `B-CHG-11 an operation reports the records and the token of every page`() async throws {
        try await ThrowawayCloud.run { cloud in
            let user = try await cloud.addUser("ada")
            let a = try await cloud.device(of: user).privateCloudDatabase
            try await a.save(Self.zone)
            for start in stride(from: 0, to: 600, by: 200) { try await Self.save(start..<start + 200, in: a) }
            let database = try await cloud.device(of: user).privateCloudDatabase
            let operation = CKFetchRecordZoneChangesOperation(
                recordZoneIDs: [Self.zone.zoneID], configurationsByRecordZoneID: nil)
            let reported = Mutex<[String]>([])
            operation.recordWasChangedBlock = { id, _ in reported.withLock { $0.append(id.recordName) } }
            operation.recordZoneChangeTokensUpdatedBlock = { _, token, _ in
                reported.withLock { $0.append(token == nil ? "no token" : "token") }
            }
            try await withCheckedThrowingContinuation { continuation in
                operation.fetchRecordZoneChangesResultBlock = { continuation.resume(with: $0) }
                database.add(operation)
            }
            let list = reported.withLock { $0 }
            // Two pages, each followed by its token.
            #expect(list.filter { $0 == "token" }.count == 2)
            #expect(list.last == "token" && list[400] == "token")
            #expect(Set(list).count == 601)
            #expect(list.count == 602)
        }
    }

    /// Saves sealed records with a text, also over earlier ones.
    private static func save(_ numbers: Range<Int>, in database: CKDatabase, text: String = "first") async throws {
        let records = numbers.map { number in
            let id = CKRecord.ID(recordName: "r\(number)", zoneID: zone.zoneID)
            let record = CKRecord(recordType: "Note", recordID: id)
            record.encryptedValues["text"] = text
            return record
        }
        let results = try await database.modifyRecords(
            saving: records, deleting: [], savePolicy: .changedKeys, atomically: true)
        for result in results.saveResults.values { _ = try result.get() }
    }

    private static func engine(
        _ database: CKDatabase, _ app: PageReader, startingWith state: CKSyncEngine.State.Serialization? = nil
    ) async throws -> CKSyncEngine {
        var configuration = CKSyncEngine.Configuration(database: database, stateSerialization: state, delegate: app)
        configuration.automaticallySync = false
        return CKSyncEngine(configuration)
    }
}

/// Notes what an engine reports of a zone.
private final class PageReader: CKSyncEngineDelegate {
    enum Kind: Hashable, Sendable { case page, state }

    struct Stored: Sendable {
        var serialization: CKSyncEngine.State.Serialization
        /// The number of records that were reported before.
        var names: Int
    }

    private struct Content {
        var names: [String] = []
        var texts: [String: String] = [:]
        var events: [Kind] = []
        var states: [Stored] = []
    }

    private let content = Mutex(Content())
    private let handled: @Sendable (Int) async -> Void

    /// - Parameter handled: Gets the number of each page, from 1, while the engine waits.
    init(handled: @escaping @Sendable (Int) async -> Void = { _ in }) { self.handled = handled }

    var names: [String] { content.withLock { $0.names } }
    var texts: [String: String] { content.withLock { $0.texts } }
    /// The pages and the states that followed the first page.
    var events: [Kind] { content.withLock { $0.events } }
    /// Those states.
    var states: [Stored] { content.withLock { $0.states } }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch event {
        case .fetchedRecordZoneChanges(let changes):
            let page = content.withLock { content in
                content.events.append(.page)
                for record in changes.modifications.map(\.record) {
                    content.names.append(record.recordID.recordName)
                    content.texts[record.recordID.recordName] = record.encryptedValues["text"] as? String
                }
                return content.events.count { $0 == .page }
            }
            await handled(page)
        case .stateUpdate(let update):
            content.withLock { content in
                if content.names.isEmpty { return }
                content.events.append(.state)
                content.states.append(Stored(serialization: update.stateSerialization, names: content.names.count))
            }
        default: break
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? { nil }
}
