import CloudKit
import Testing

/// The calls of the tests of Apple's sample for the sync engine, in their order, on a container that is empty at first.
///
/// Each test begins with the deletion of a zone that never was, and uses two engines of one device; a second engine takes the place of
/// the first one at each point where the task of the sample may come (B-SYN-16).
@Suite(.timeLimit(.minutes(20))) struct AddressBookTests {
    static let replacements: [AddressBook.Replacement] = [.never, .inTask] + (0..<14).map { .before($0) }

    /// Runs a test with a maker of apps, twice with one container.
    private func run(
        _ replacement: AddressBook.Replacement, _ body: (CKDatabase, () -> AddressBook) async throws -> Void
    ) async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            for _ in 0..<2 {
                try await database.deleteRecordZone(withID: AddressBook.zoneID)
                try await body(database) { AddressBook(database, replacement) }
            }
        }
    }

    private func person(_ name: String, edited: Date = Date()) -> AddressBook.Person {
        AddressBook.Person(name: name, edited: edited)
    }

    @Test(arguments: [1, 10, 444])
    func `B-ZN-07 B-SYN-13 people of one device are fetched by another`(count: Int) async throws {
        for replacement in count == 1 ? Self.replacements : [.never, .inTask, .before(2)] {
            try await run(replacement) { _, makeApp in
                let (first, second) = (makeApp(), makeApp())
                let people = (0..<count).map { person("\($0)") }
                await first.save(people)
                try await first.syncEngine.sendChanges()
                #expect(await second.people.isEmpty)
                try await second.syncEngine.fetchChanges()
                #expect(Set(await second.people.values) == Set(people), "\(replacement)")
            }
        }
    }

    @Test(arguments: replacements)
    func `B-SYN-13 a new name goes from one device to the other and back`(
        replacement: AddressBook.Replacement
    ) async throws {
        try await run(replacement) { _, makeApp in
            let (first, second) = (makeApp(), makeApp())
            let made = person("Name 1")
            await first.save([made])
            try await first.syncEngine.sendChanges()
            try await second.syncEngine.fetchChanges()
            #expect(await second.people.mapValues(\.name) == [made.id: "Name 1"])
            var edited = try #require(await second.people[made.id])
            (edited.name, edited.edited) = ("Name 2", edited.edited + 1)
            await second.save([edited])
            try await second.syncEngine.sendChanges()
            try await first.syncEngine.fetchChanges()
            #expect(await first.people.mapValues(\.name) == [made.id: "Name 2"])
            (edited.name, edited.edited) = ("Name 3", edited.edited + 1)
            await first.save([edited])
            try await first.syncEngine.sendChanges()
            try await second.syncEngine.fetchChanges()
            #expect(await second.people.mapValues(\.name) == [made.id: "Name 3"])
        }
    }

    /// What another device does meanwhile.
    enum Loss: CaseIterable, Sendable {
        case zone, record
    }

    @Test(arguments: Loss.allCases, replacements)
    func `B-SYN-09 a person whose zone or record another device deleted is saved again`(
        loss: Loss, replacement: AddressBook.Replacement
    ) async throws {
        try await run(replacement) { database, makeApp in
            let app = makeApp()
            var made = person("I am a person")
            await app.save([made])
            try await app.syncEngine.sendChanges()
            let created = try #require(await app.archivedRecord(of: made.id)?.creationDate)
            switch loss {
            case .zone: try await database.deleteRecordZone(withID: AddressBook.zoneID)
            case .record: try await database.deleteRecord(withID: made.recordID)
            }
            (made.name, made.edited) = ("I have another name", made.edited + 1)
            await app.save([made])
            await #expect(throws: CKError.self) { try await app.syncEngine.sendChanges() }
            #expect(await app.archivedRecord(of: made.id) == nil)
            try await app.syncEngine.sendChanges()
            let second = makeApp()
            try await second.syncEngine.fetchChanges()
            #expect(await second.people == [made.id: made])
            let createdAgain = try #require(await second.archivedRecord(of: made.id)?.creationDate)
            #expect(createdAgain > created)
        }
    }

    @Test(arguments: [true, false], replacements)
    func `B-SYN-09 B-SYN-15 the later edit wins, whichever device saves first`(
        winnerFirst: Bool, replacement: AddressBook.Replacement
    ) async throws {
        try await run(replacement) { _, makeApp in
            let (winner, loser) = (makeApp(), makeApp())
            let made = person("first")
            await winner.save([made])
            try await winner.syncEngine.sendChanges()
            try await loser.syncEngine.fetchChanges()
            #expect(await loser.people == [made.id: made])
            var (won, lost) = (made, made)
            (won.name, won.edited) = ("won", made.edited + 2)
            (lost.name, lost.edited) = ("lost", made.edited + 1)
            await winner.save([won])
            await loser.save([lost])

            let (early, late) = winnerFirst ? (winner, loser) : (loser, winner)
            try await early.syncEngine.sendChanges()
            await #expect(throws: CKError.self) { try await late.syncEngine.sendChanges() }
            #expect(await early.syncEngine.state.pendingRecordZoneChanges.isEmpty)
            #expect(await late.syncEngine.state.pendingRecordZoneChanges == [.saveRecord(made.recordID)])
            #expect(await winner.people == [made.id: won])
            #expect(await loser.people == [made.id: winnerFirst ? won : lost])
            try await late.syncEngine.sendChanges()
            try await early.syncEngine.fetchChanges()
            #expect(await winner.people == [made.id: won])
            #expect(await loser.people == [made.id: won])
        }
    }
}

/// An engine that takes the place of another one.
@Suite(.timeLimit(.minutes(20))) struct ReplacedEngineTests {
    /// Keeps the states that it gets.
    private actor Listener: CKSyncEngineDelegate {
        private(set) var states: [CKSyncEngine.State.Serialization] = []
        private let (stream, continuation) = AsyncStream.makeStream(of: Void.self)

        func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
            guard case .stateUpdate(let update) = event else { return }
            states.append(update.stateSerialization)
            continuation.yield()
        }

        func nextRecordZoneChangeBatch(
            _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
        ) async -> CKSyncEngine.RecordZoneChangeBatch? { nil }

        func firstState() async -> CKSyncEngine.State.Serialization? {
            for await _ in stream { break }
            return states.first
        }
    }

    private func engine(
        _ database: CKDatabase, _ state: CKSyncEngine.State.Serialization?, _ delegate: any CKSyncEngineDelegate,
        subscription: String? = nil
    ) -> CKSyncEngine {
        var configuration = CKSyncEngine.Configuration(
            database: database, stateSerialization: state, delegate: delegate)
        configuration.automaticallySync = false
        configuration.subscriptionID = subscription
        return CKSyncEngine(configuration)
    }

    private static let change = CKSyncEngine.PendingRecordZoneChange.saveRecord(CKRecord.ID(recordName: "r"))

    @Test func `B-SYN-16 an engine continues one with the state that the app has from it, and no other`() async throws {
        try await ThrowawayCloud.run { cloud in
            let device = try await cloud.device(of: cloud.addUser("ada"))
            let (listener, stranger) = (Listener(), Listener())
            let first = engine(device.privateCloudDatabase, nil, listener)
            first.state.add(pendingRecordZoneChanges: [Self.change])
            let state = try #require(await listener.firstState())

            let next = engine(device.privateCloudDatabase, state, listener)
            #expect(next.state === first.state)
            #expect(next.state.pendingRecordZoneChanges == [Self.change])
            // Also as the app reads it from its disk.
            let read = try JSONDecoder().decode(
                CKSyncEngine.State.Serialization.self, from: JSONEncoder().encode(state))
            #expect(engine(device.privateCloudDatabase, read, listener).state === first.state)

            // Forgetting the state is a new beginning.
            let reset = engine(device.privateCloudDatabase, nil, listener)
            #expect(reset.state !== first.state && reset.state.pendingRecordZoneChanges.isEmpty)
            #expect(engine(device.privateCloudDatabase, state, stranger).state !== first.state)
            #expect(engine(device.sharedCloudDatabase, state, listener).state !== first.state)
            #expect(engine(device.privateCloudDatabase, state, listener, subscription: "own").state !== first.state)
        }
    }

    @Test func `B-SYN-16 an engine that has ended is not continued`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let listener = Listener()
            do {
                let first = engine(database, nil, listener)
                #expect(first.state.pendingRecordZoneChanges.isEmpty)
            }
            let second = engine(database, nil, listener)
            let third = engine(database, nil, listener)
            #expect(second.state === third.state)
            third.state.add(pendingRecordZoneChanges: [Self.change])
            #expect(second.state.pendingRecordZoneChanges == [Self.change])
        }
    }

    @Test func `B-SYN-02 an event handler cannot wait for the engine that took its engine's place`() async throws {
        /// Makes an engine inside of an event and asks it to fetch.
        actor Impatient: CKSyncEngineDelegate {
            let database: CKDatabase
            private(set) var code: CKError.Code?
            init(_ database: CKDatabase) { self.database = database }

            func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
                guard case .accountChange = event else { return }
                var configuration = CKSyncEngine.Configuration(
                    database: database, stateSerialization: nil, delegate: self)
                configuration.automaticallySync = false
                do {
                    try await CKSyncEngine(configuration).fetchChanges()
                } catch {
                    code = (error as? CKError)?.code
                }
            }

            func nextRecordZoneChangeBatch(
                _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
            ) async -> CKSyncEngine.RecordZoneChangeBatch? { nil }
        }

        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let app = Impatient(database)
            try await engine(database, nil, app).fetchChanges()
            #expect(await app.code == .invalidArguments)
        }
    }
}
