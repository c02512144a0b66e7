import CloudKit
import CloudKitClient
import CloudKitTesting
import FaultyNetwork
import Testing

/// Devices that sync with an engine each, on request, against a running cloud.
@Suite(.timeLimit(.minutes(20))) struct SyncEngineTests {
    @Test func `B-SYN-03 B-SYN-04 B-SYN-12 a first send reports the account, saves zones, then records`() async throws {
        try await ThrowawayCloud.run { cloud in
            let device = try await cloud.device(of: cloud.addUser("ada"))
            let app = try Notebook(device.privateCloudDatabase)
            await app.write("a", "first", edit: 1)
            try await app.syncEngine.sendChanges()
            #expect(
                await app.log.filter { $0 != "stateUpdate" } == [
                    "accountChange(signIn)", "willSendChanges(manual)",
                    "sentDatabaseChanges(1 saved, 0 deleted, 0 failed)",
                    "sentRecordZoneChanges(1 saved, 0 deleted, 0 failed)", "didSendChanges(manual)",
                ])
            #expect(await app.syncEngine.state.pendingRecordZoneChanges.isEmpty)
            #expect(await app.syncEngine.state.pendingDatabaseChanges.isEmpty)
        }
    }

    @Test func `B-SYN-01 B-SYN-03 a fetch reports zones, then each zone's records, and the state comes last`()
        async throws
    {
        try await ThrowawayCloud.run { cloud in
            let user = try await cloud.addUser("ada")
            let a = try Notebook(await cloud.device(of: user).privateCloudDatabase)
            let b = try Notebook(await cloud.device(of: user).privateCloudDatabase)
            await a.write("a", "first", edit: 1)
            try await a.syncEngine.sendChanges()
            // Changes that are sent and known already do not matter here.
            try await b.syncEngine.sendChanges()
            await b.forgetLog()
            try await b.syncEngine.fetchChanges()
            #expect(
                await b.log == [
                    "willFetchChanges(manual)", "fetchedDatabaseChanges(1 modified, 0 deleted)", "stateUpdate",
                    "willFetchRecordZoneChanges(Notes)", "fetchedRecordZoneChanges(1 modified, 0 deleted)",
                    "stateUpdate",
                    "didFetchRecordZoneChanges(Notes)", "didFetchChanges(manual)",
                ])
            #expect(await b.notes["a"]?.text == "first")
            await b.forgetLog()
            try await b.syncEngine.fetchChanges()
            #expect(await b.log == ["willFetchChanges(manual)", "didFetchChanges(manual)"])
        }
    }

    @Test
    func `B-SYN-09 B-SYN-15 a conflict is reported, ends the send, and the app's additions belong to the next one`()
        async throws
    {
        try await ThrowawayCloud.run { cloud in
            let user = try await cloud.addUser("ada")
            let a = try Notebook(await cloud.device(of: user).privateCloudDatabase)
            let b = try Notebook(await cloud.device(of: user).privateCloudDatabase)
            await a.write("n", "A1", edit: 1)
            try await a.syncEngine.sendChanges()
            try await b.syncEngine.fetchChanges()
            await a.write("n", "A2", edit: 3)
            await b.write("n", "B1", edit: 2)
            try await b.syncEngine.sendChanges()
            await expect(.partialFailure) { try await a.syncEngine.sendChanges() }
            #expect(await a.failures == [.serverRecordChanged])
            #expect(await a.syncEngine.state.pendingRecordZoneChanges.count == 1)
            #expect(await b.syncEngine.state.pendingRecordZoneChanges.isEmpty)
            try await a.syncEngine.sendChanges()
            try await b.syncEngine.fetchChanges()
            #expect(await a.notes["n"]?.text == "A2")
            #expect(await b.notes["n"]?.text == "A2")
        }
    }

    @Test func `B-SYN-09 after zoneNotFound the app saves the zone again, after unknownItem the record`() async throws {
        try await ThrowawayCloud.run { cloud in
            let user = try await cloud.addUser("ada")
            let app = try Notebook(await cloud.device(of: user).privateCloudDatabase)
            await app.write("n", "one", edit: 1)
            try await app.syncEngine.sendChanges()
            try await app.database.deleteRecordZone(withID: Notebook.zone.zoneID)
            await app.write("n", "two", edit: 2)
            await expect(.partialFailure) { try await app.syncEngine.sendChanges() }
            try await app.syncEngine.sendChanges()
            let id = CKRecord.ID(recordName: "n", zoneID: Notebook.zone.zoneID)
            try await app.database.deleteRecord(withID: id)
            await app.write("n", "three", edit: 3)
            await expect(.partialFailure) { try await app.syncEngine.sendChanges() }
            try await app.syncEngine.sendChanges()
            #expect(await app.failures == [.zoneNotFound, .unknownItem])
            #expect(try await app.database.record(for: id)["text"] as? String == "three")
        }
    }

    @Test func `B-SYN-09 a zone that the cloud refuses is reported and left to the app, the others are saved`()
        async throws
    {
        try await ThrowawayCloud.run { cloud in
            let app = try Notebook(await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase)
            try await app.syncEngine.sendChanges()
            let good = CKRecordZone(zoneName: "Good")
            let engine = await app.syncEngine
            engine.state.add(pendingDatabaseChanges: [.saveZone(good), .deleteZone(CKRecordZone.default().zoneID)])
            await expect(.partialFailure) { try await engine.sendChanges() }
            #expect(await app.failures == [.invalidArguments])
            #expect(engine.state.pendingDatabaseChanges.isEmpty)
            #expect(try await app.database.recordZone(for: good.zoneID).zoneID == good.zoneID)
        }
    }

    @Test func `B-SYN-08 changes that failed because of the network stay pending and are reported`() async throws {
        try await ThrowawayCloud.run { cloud in
            let network = FaultyTransport(over: HTTPTransport.shared, clientEnvironment: .system)
            let device = try await cloud.device(of: cloud.addUser("ada"), over: network)
            let app = try Notebook(device.privateCloudDatabase)
            try await app.syncEngine.sendChanges()
            await app.write("n", "one", edit: 1)
            network.decide { _ in .unreachable }
            await expect(.networkUnavailable) { try await app.syncEngine.sendChanges() }
            network.decide { _ in .answerLost }
            await expect(.serverResponseLost) { try await app.syncEngine.sendChanges() }
            #expect(await app.failures == [.networkUnavailable, .serverResponseLost])
            #expect(await app.syncEngine.state.pendingRecordZoneChanges.count == 1)
            network.decide { _ in nil }
            // The first attempt had arrived: the second one meets it, and the app merges the two.
            await expect(.partialFailure) { try await app.syncEngine.sendChanges() }
            try await app.syncEngine.sendChanges()
            #expect(await app.syncEngine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    @Test func `B-LIM-04 many changes go in batches of 250, one event each`() async throws {
        try await ThrowawayCloud.run { cloud in
            let user = try await cloud.addUser("ada")
            let a = try Notebook(await cloud.device(of: user).privateCloudDatabase)
            let b = try Notebook(await cloud.device(of: user).privateCloudDatabase)
            for number in 0..<444 { await a.write("n\(number)", "\(number)", edit: number) }
            try await a.syncEngine.sendChanges()
            #expect(
                await a.log.filter { $0.hasPrefix("sentRecord") } == [
                    "sentRecordZoneChanges(250 saved, 0 deleted, 0 failed)",
                    "sentRecordZoneChanges(194 saved, 0 deleted, 0 failed)",
                ])
            try await b.syncEngine.fetchChanges()
            #expect(await b.notes == a.notes)
        }
    }

    @Test func `B-LIM-02 a batch that is too large for one request is sent in parts, parents first`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let zone = try await database.save(CKRecordZone(zoneName: "Z"))
            let root = CKRecord(recordType: "T", recordID: .init(recordName: "root", zoneID: zone.zoneID))
            let children = (0..<500).map { number in
                let child = CKRecord(recordType: "T", recordID: .init(recordName: "c\(number)", zoneID: zone.zoneID))
                child.setParent(root)
                return child
            }
            let delegate = OneBatch(CKSyncEngine.RecordZoneChangeBatch(recordsToSave: children + [root]))
            let engine = delegate.engine(on: database)
            engine.state.hasPendingUntrackedChanges = true
            try await engine.sendChanges()
            let sent = await delegate.sent
            #expect(sent.map(\.savedRecords.count) == [501])
            #expect(engine.state.hasPendingUntrackedChanges == false)
        }
    }

    @Test(arguments: [false, true])
    func `B-LIM-02 a batch of more bytes than one request has is sent in parts`(isSealed: Bool) async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let zone = try await database.save(CKRecordZone(zoneName: "Z"))
            let text = String(repeating: "long text ", count: 10_000)
            let records = (0..<50).map { number in
                let record = CKRecord(
                    recordType: "T", recordID: .init(recordName: "r\(number)", zoneID: zone.zoneID))
                if isSealed { record.encryptedValues["text"] = text } else { record["text"] = text }
                return record
            }
            let delegate = OneBatch(CKSyncEngine.RecordZoneChangeBatch(recordsToSave: records))
            let engine = delegate.engine(on: database)
            engine.state.hasPendingUntrackedChanges = true
            try await engine.sendChanges()
            #expect(await delegate.sent.map(\.savedRecords.count) == [50])
        }
    }

    @Test func `B-SYN-07 a batch is not atomic unless it says so: what has no conflict is saved`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let zone = try await database.save(CKRecordZone(zoneName: "Z"))
            let taken = CKRecord(recordType: "T", recordID: .init(recordName: "taken", zoneID: zone.zoneID))
            try await database.save(taken)
            let again = CKRecord(recordType: "T", recordID: taken.recordID)
            let fresh = CKRecord(recordType: "T", recordID: .init(recordName: "fresh", zoneID: zone.zoneID))
            let batch = CKSyncEngine.RecordZoneChangeBatch(recordsToSave: [again, fresh])
            #expect(!batch.atomicByZone)
            let pending = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: [.saveRecord(fresh.recordID)]) { _ in
                fresh
            }
            #expect(pending?.atomicByZone == false)
            let delegate = OneBatch(batch)
            let engine = delegate.engine(on: database)
            await expect(.partialFailure) { try await engine.sendChanges() }
            #expect(await delegate.sent.flatMap(\.failedRecordSaves).map(\.error.code) == [.serverRecordChanged])
            #expect(try await database.record(for: fresh.recordID).recordChangeTag != nil)
        }
    }

    @Test func `an atomic batch with a conflict changes nothing in its zone`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let zone = try await database.save(CKRecordZone(zoneName: "Z"))
            let taken = CKRecord(recordType: "T", recordID: .init(recordName: "taken", zoneID: zone.zoneID))
            try await database.save(taken)
            let again = CKRecord(recordType: "T", recordID: taken.recordID)
            let fresh = CKRecord(recordType: "T", recordID: .init(recordName: "fresh", zoneID: zone.zoneID))
            let delegate = OneBatch(.init(recordsToSave: [again, fresh], atomicByZone: true))
            let engine = delegate.engine(on: database)
            await expect(.partialFailure) { try await engine.sendChanges() }
            let failed = await delegate.sent.flatMap(\.failedRecordSaves)
            #expect(Set(failed.map(\.error.code)) == [.serverRecordChanged, .batchRequestFailed])
            await expect(.unknownItem) { _ = try await database.record(for: fresh.recordID) }
        }
    }

    @Test func `B-SYN-06 a batch outside of the scope is refused, and nothing of it is sent`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let zone = try await database.save(CKRecordZone(zoneName: "Z"))
            let record = CKRecord(recordType: "T", recordID: .init(recordName: "r", zoneID: zone.zoneID))
            let delegate = OneBatch(.init(recordsToSave: [record]))
            let engine = delegate.engine(on: database)
            await expect(.invalidArguments) {
                try await engine.sendChanges(.init(scope: .allExcluding([zone.zoneID])))
            }
            await expect(.unknownItem) { _ = try await database.record(for: record.recordID) }
        }
    }

    @Test func `B-SYN-06 a change whose record the app no longer has is dropped`() async throws {
        try await ThrowawayCloud.run { cloud in
            let app = try Notebook(await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase)
            let id = CKRecord.ID(recordName: "never", zoneID: Notebook.zone.zoneID)
            let delegate = Forgetful()
            var configuration = CKSyncEngine.Configuration(
                database: app.database, stateSerialization: nil, delegate: delegate)
            configuration.automaticallySync = false
            let engine = CKSyncEngine(configuration)
            engine.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
            try await engine.sendChanges()
            #expect(engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    @Test func `B-SYN-13 the scope of a fetch is kept, and prioritised zones come first`() async throws {
        try await ThrowawayCloud.run { cloud in
            let user = try await cloud.addUser("ada")
            let database = try await cloud.device(of: user).privateCloudDatabase
            let zones = ["One", "Two", "Three"].map { CKRecordZone(zoneName: $0) }
            _ = try await database.modifyRecordZones(saving: zones, deleting: [])
            for zone in zones {
                try await database.save(
                    CKRecord(recordType: "T", recordID: .init(recordName: "r", zoneID: zone.zoneID)))
            }
            let app = try Notebook(await cloud.device(of: user).privateCloudDatabase)
            func fetched() async -> [String] {
                await app.log.filter { $0.hasPrefix("willFetchRecord") }.map { String($0.dropFirst(27).dropLast()) }
            }
            try await app.syncEngine.fetchChanges(.init(scope: .zoneIDs([zones[1].zoneID])))
            #expect(await fetched() == ["Two"])
            #expect(
                Set(await app.syncEngine.state.zoneIDsWithUnfetchedServerChanges) == [zones[0].zoneID, zones[2].zoneID])
            await app.forgetLog()
            var options = CKSyncEngine.FetchChangesOptions()
            options.prioritizedZoneIDs = [zones[2].zoneID, zones[1].zoneID]
            try await app.syncEngine.fetchChanges(options)
            #expect(await fetched() == ["Three", "One"])
        }
    }

    @Test func `B-SYN-14 a deleted zone is reported with its reason, and its token is removed`() async throws {
        try await ThrowawayCloud.run { cloud in
            let user = try await cloud.addUser("ada")
            let a = try Notebook(await cloud.device(of: user).privateCloudDatabase)
            let b = try Notebook(await cloud.device(of: user).privateCloudDatabase)
            await a.write("n", "one", edit: 1)
            try await a.syncEngine.sendChanges()
            try await b.syncEngine.fetchChanges()
            await a.syncEngine.state.add(pendingDatabaseChanges: [.deleteZone(Notebook.zone.zoneID)])
            try await a.syncEngine.sendChanges()
            await b.forgetLog()
            try await b.syncEngine.fetchChanges()
            #expect(await b.log.contains("fetchedDatabaseChanges(0 modified, 1 deleted)"))
            #expect(await b.notes.isEmpty)
            await a.syncEngine.state.add(pendingDatabaseChanges: [.saveZone(Notebook.zone)])
            await a.write("m", "two", edit: 2)
            try await a.syncEngine.sendChanges()
            try await b.syncEngine.fetchChanges()
            #expect(await b.notes.keys.sorted() == ["m"])
        }
    }

    @Test func `B-CHG-10 a zone that was deleted while it was fetched, and made again, has an expired token`()
        async throws
    {
        try await ThrowawayCloud.run { cloud in
            let user = try await cloud.addUser("ada")
            let other = try await cloud.device(of: user).privateCloudDatabase
            let zone = CKRecordZone(zoneName: "Z")
            @Sendable func save(_ name: String) async throws {
                let id = CKRecord.ID(recordName: name, zoneID: zone.zoneID)
                try await other.save(CKRecord(recordType: "Note", recordID: id))
            }
            try await other.save(zone)
            try await save("old")
            let delegate = Interrupting()
            var configuration = CKSyncEngine.Configuration(
                database: try await cloud.device(of: user).privateCloudDatabase, stateSerialization: nil,
                delegate: delegate)
            configuration.automaticallySync = false
            let engine = CKSyncEngine(configuration)
            try await engine.fetchChanges()
            try await save("newer")
            await delegate.interrupt { try await other.deleteRecordZone(withID: zone.zoneID) }
            try await engine.fetchChanges()
            #expect(await delegate.errors == [.zoneNotFound])
            try await other.save(zone)
            try await save("new")
            try await engine.fetchChanges()
            // The app learns that what it has of the zone is of an earlier one.
            #expect(await delegate.errors == [.zoneNotFound, .changeTokenExpired])
            #expect(await delegate.names == ["old", "new"])
        }
    }

    @Test(arguments: [false, true])
    func `B-CHG-08 the end of a record that a conflict showed before the first fetch is reported`(endsZone: Bool)
        async throws
    {
        try await ThrowawayCloud.run { cloud in
            let user = try await cloud.addUser("ada")
            let other = try await cloud.device(of: user).privateCloudDatabase
            try await other.save(Notebook.zone)
            let record = CKRecord(
                recordType: "Note", recordID: CKRecord.ID(recordName: "n", zoneID: Notebook.zone.zoneID))
            record["edit"] = 2
            record["text"] = "theirs"
            try await other.save(record)
            let app = try Notebook(await cloud.device(of: user).privateCloudDatabase)
            await app.write("n", "mine", edit: 1)
            await expect(.partialFailure) { try await app.syncEngine.sendChanges() }
            #expect(await app.notes["n"]?.text == "theirs")
            if endsZone {
                try await other.deleteRecordZone(withID: Notebook.zone.zoneID)
            } else {
                try await other.deleteRecord(withID: record.recordID)
            }
            let again = try Notebook(app.database, disk: await app.disk)
            try await again.syncEngine.fetchChanges()
            #expect(await again.notes.isEmpty)
        }
    }

    @Test func `B-CHG-08 a deletion by another device of a record saved before the first fetch is reported`()
        async throws
    {
        try await ThrowawayCloud.run { cloud in
            let user = try await cloud.addUser("ada")
            let app = try Notebook(await cloud.device(of: user).privateCloudDatabase)
            await app.write("a", "one", edit: 1)
            await app.write("b", "two", edit: 2)
            try await app.syncEngine.sendChanges()
            let other = try await cloud.device(of: user).privateCloudDatabase
            try await other.deleteRecord(withID: .init(recordName: "a", zoneID: Notebook.zone.zoneID))
            let again = try Notebook(app.database, disk: await app.disk)
            try await again.syncEngine.fetchChanges()
            #expect(await again.notes.keys.sorted() == ["b"])
        }
    }

    @Test func `B-SYN-02 a sync inside of a handler is refused instead of waiting for itself`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let delegate = Reentrant()
            var configuration = CKSyncEngine.Configuration(
                database: database, stateSerialization: nil, delegate: delegate)
            configuration.automaticallySync = false
            let engine = CKSyncEngine(configuration)
            try await engine.fetchChanges()
            #expect(await delegate.codes == [.invalidArguments, .invalidArguments])
            try await #require(await delegate.later).value
        }
    }

    @Test func `B-SYN-12 without an account an engine waits, and keeps its pending changes`() async throws {
        try await ThrowawayCloud.run { cloud in
            let app = try Notebook(cloud.strangersDevice().privateCloudDatabase)
            await app.write("n", "one", edit: 1)
            await expect(.notAuthenticated) { try await app.syncEngine.sendChanges() }
            await expect(.notAuthenticated) { try await app.syncEngine.fetchChanges() }
            #expect(await app.log.allSatisfy { $0 == "stateUpdate" })
            #expect(await app.syncEngine.state.pendingRecordZoneChanges.count == 1)
        }
    }

    /// Returns a device on which Ada is signed in, and Bob may sign in after her.
    private func deviceOfTwoUsers(
        _ cloud: ThrowawayCloud
    ) async throws -> (account: SwitchingAccount, ada: SignedInDevice, bob: SignedInDevice, database: CKDatabase) {
        let ada = try await cloud.credentials(of: cloud.addUser("ada"))
        let bob = try await cloud.credentials(of: cloud.addUser("bob"))
        let account = SwitchingAccount(ada)
        let container = CKContainer(
            identifier: cloud.container, endpoint: cloud.endpoint, account: account, transport: HTTPTransport.shared)
        return (account, ada, bob, container.privateCloudDatabase)
    }

    @Test func `B-SYN-12 another user on the device resets the state, pending changes included`() async throws {
        try await ThrowawayCloud.run { cloud in
            let (account, ada, bob, database) = try await deviceOfTwoUsers(cloud)
            let app = try Notebook(database)
            await app.write("n", "one", edit: 1)
            try await app.syncEngine.sendChanges()
            await app.write("n", "two", edit: 2)
            await app.forgetLog()
            account.become(bob)
            try await app.syncEngine.fetchChanges()
            #expect(await app.log.first { $0 != "stateUpdate" } == "accountChange(switchAccounts)")
            #expect(await app.syncEngine.state.pendingRecordZoneChanges.isEmpty)
            #expect(await app.notes.isEmpty)
            account.become(nil)
            await app.forgetLog()
            await expect(.notAuthenticated) { try await app.syncEngine.fetchChanges() }
            #expect(await app.log == ["accountChange(signOut)", "stateUpdate"])
            account.become(ada)
            await app.forgetLog()
            try await app.syncEngine.fetchChanges()
            #expect(await app.log.first == "accountChange(signIn)")
            #expect(await app.notes["n"]?.text == "one")
        }
    }

    @Test func `B-SYN-12 changes that a user added before the first sync do not go to the next user`() async throws {
        try await ThrowawayCloud.run { cloud in
            let (account, _, bob, database) = try await deviceOfTwoUsers(cloud)
            let app = try Notebook(database)
            await app.write("n", "Ada's", edit: 1)
            account.become(bob)
            try await app.syncEngine.sendChanges()
            #expect(await app.log.first { $0 != "stateUpdate" } == "accountChange(switchAccounts)")
            #expect(await app.notes.isEmpty)
            #expect(try await database.allRecordZones().map(\.zoneID) == [.default])
        }
    }

    @Test func `B-SYN-12 changes that a user added after signing in again do not go to the next user`() async throws {
        try await ThrowawayCloud.run { cloud in
            let (account, ada, bob, database) = try await deviceOfTwoUsers(cloud)
            let app = try Notebook(database)
            try await app.syncEngine.fetchChanges()
            account.become(nil)
            await expect(.notAuthenticated) { try await app.syncEngine.fetchChanges() }
            account.become(ada)
            await app.write("n", "Ada's", edit: 1)
            account.become(bob)
            await app.forgetLog()
            try await app.syncEngine.sendChanges()
            #expect(await app.log.first { $0 != "stateUpdate" } == "accountChange(switchAccounts)")
            #expect(await app.notes.isEmpty)
            #expect(try await database.allRecordZones().map(\.zoneID) == [.default])
        }
    }

    @Test func `B-SYN-12 accounts that changed while the app was away are one event`() async throws {
        try await ThrowawayCloud.run { cloud in
            let ada = try await cloud.device(of: cloud.addUser("ada"))
            let bob = try await cloud.device(of: cloud.addUser("bob"))
            let app = try Notebook(ada.privateCloudDatabase)
            try await app.syncEngine.sendChanges()
            let again = try Notebook(bob.privateCloudDatabase, disk: await app.disk)
            try await again.syncEngine.fetchChanges()
            #expect(await again.log.first == "accountChange(switchAccounts)")
        }
    }

    @Test func `B-SYN-01 private and shared databases have an engine each, the public one has none`() async throws {
        try await ThrowawayCloud.run { cloud in
            let device = try await cloud.device(of: cloud.addUser("ada"))
            let mine = try Notebook(device.privateCloudDatabase)
            let others = try Notebook(device.sharedCloudDatabase)
            let sharedByAll = try Notebook(device.publicCloudDatabase)
            async let first: Void = mine.syncEngine.fetchChanges()
            async let second: Void = others.syncEngine.fetchChanges()
            _ = try await (first, second)
            await expect(.invalidArguments) { try await sharedByAll.syncEngine.fetchChanges() }
            await expect(.invalidArguments) { try await sharedByAll.syncEngine.sendChanges() }
        }
    }

    @Test func `B-SYN-05 an edit made while its record is being sent is sent as well`() async throws {
        try await ThrowawayCloud.run { cloud in
            let clock = TestClock(skipsWaits: false)
            let slow = FaultyTransport(over: HTTPTransport.shared, clientEnvironment: clock.clientEnvironment) {
                request in
                request.url.path.hasSuffix("records/modify") ? .delayed(.seconds(1)) : nil
            }
            let app = try Notebook(await cloud.device(of: cloud.addUser("ada"), over: slow).privateCloudDatabase)
            await app.write("n", "one", edit: 1)
            let sending = Task { try await app.syncEngine.sendChanges() }
            _ = try await clock.nextSleep()
            await app.write("n", "two", edit: 2)
            clock.advance(by: .seconds(1))
            _ = try await clock.nextSleep()
            clock.advance(by: .seconds(1))
            try await sending.value
            let id = CKRecord.ID(recordName: "n", zoneID: Notebook.zone.zoneID)
            #expect(try await app.database.record(for: id)["text"] as? String == "two")
            #expect(await app.syncEngine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    @Test func `Cancelling ends running and waiting work, and loses nothing`() async throws {
        try await ThrowawayCloud.run { cloud in
            let clock = TestClock(skipsWaits: false)
            let network = FaultyTransport(over: HTTPTransport.shared, clientEnvironment: clock.clientEnvironment) {
                request in
                request.url.path.hasSuffix("records/modify") ? .delayed(.seconds(1)) : nil
            }
            let app = try Notebook(await cloud.device(of: cloud.addUser("ada"), over: network).privateCloudDatabase)
            await app.write("n", "one", edit: 1)
            let engine = await app.syncEngine
            let sending = Task { try await engine.sendChanges() }
            _ = try await clock.nextSleep()
            let fetching = Task { try await engine.fetchChanges() }
            sending.cancel()
            await expect(.operationCancelled) { try await sending.value }
            try await fetching.value
            let again = Task { try await engine.sendChanges() }
            _ = try await clock.nextSleep()
            await engine.cancelOperations()
            await expect(.operationCancelled) { try await again.value }
            #expect(engine.state.pendingRecordZoneChanges.count == 1)
            network.decide { _ in nil }
            try await engine.sendChanges()
            #expect(engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }
}
