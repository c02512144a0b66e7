import CloudKit
import CloudKitModel
import CloudKitServer
import Testing

/// Devices that were away for so long that the cloud has forgotten what they missed, and zones that went for other reasons
/// than their apps.
@Suite(.timeLimit(.minutes(20))) struct ForgottenFeedTests {
    /// Forgets all that the cloud would forget in a month.
    private func forget(_ cloud: ThrowawayCloud) async throws {
        for database in try await CompactFeeds(cloud.cloud).databases(after: nil, limit: .max) {
            _ = try await CompactFeeds(cloud.cloud).run(of: database, before: .max)
        }
    }

    @Test
    func `B-CHG-09 B-SYN-13 after compaction an engine fetches from the beginning and loses nothing that is pending`()
        async throws
    {
        try await ThrowawayCloud.run { cloud in
            let user = try await cloud.addUser("ada")
            let a = try Notebook(await cloud.device(of: user).privateCloudDatabase)
            let b = try Notebook(await cloud.device(of: user).privateCloudDatabase)
            await a.write("old", "one", edit: 1)
            await a.write("kept", "two", edit: 2)
            try await a.syncEngine.sendChanges()
            try await b.syncEngine.fetchChanges()
            #expect(await b.notes.count == 2)
            // Changes that b makes while it is offline.
            await b.write("mine", "three", edit: 3)
            await b.write("kept", "mine", edit: 4)
            await a.remove("old")
            await a.write("new", "five", edit: 5)
            try await a.syncEngine.sendChanges()
            try await forget(cloud)
            // Killed in the middle of it, too.
            await b.die(after: 6)
            try await b.syncEngine.fetchChanges()
            let again = try Notebook(b.database, disk: await b.disk)
            try await again.syncEngine.fetchChanges()
            #expect(await again.notes["new"]?.text == "five")
            try await again.syncEngine.fetchChanges()
            #expect(await again.syncEngine.state.pendingRecordZoneChanges.count == 2)
            try await again.syncEngine.sendChanges()
            #expect(await again.failures.isEmpty)
            try await a.syncEngine.fetchChanges()
            #expect(await a.notes["mine"]?.text == "three")
            #expect(await a.notes["kept"]?.text == "mine")
        }
    }

    @Test func `B-CHG-09 an engine whose database token expired learns of deleted zones`() async throws {
        try await ThrowawayCloud.run { cloud in
            let user = try await cloud.addUser("ada")
            let a = try Notebook(await cloud.device(of: user).privateCloudDatabase)
            let b = try Notebook(await cloud.device(of: user).privateCloudDatabase)
            await a.write("n", "one", edit: 1)
            try await a.syncEngine.sendChanges()
            try await b.syncEngine.fetchChanges()
            #expect(await b.notes.keys.sorted() == ["n"])
            await a.syncEngine.state.add(pendingDatabaseChanges: [.deleteZone(Notebook.zone.zoneID)])
            try await a.syncEngine.sendChanges()
            try await forget(cloud)
            try await b.syncEngine.fetchChanges()
            #expect(await b.notes.isEmpty)
        }
    }

    @Test func `B-CHG-09 operations and functions say that their tokens expired`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let zone = try await database.save(CKRecordZone(zoneName: "Z")).zoneID
            let record = try await database.save(
                CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "R", zoneID: zone)))
            let inZone = try await database.recordZoneChanges(inZoneWith: zone, since: nil).changeToken
            let inDatabase = try await database.databaseChanges(since: nil).changeToken
            let other = try await database.save(CKRecordZone(zoneName: "Y")).zoneID
            try await database.deleteRecord(withID: record.recordID)
            _ = try await database.deleteRecordZone(withID: other)
            try await forget(cloud)
            let zoneError = await #expect(throws: CKError.self) {
                _ = try await database.recordZoneChanges(inZoneWith: zone, since: inZone)
            }
            #expect(zoneError?.code == .changeTokenExpired)
            let databaseError = await #expect(throws: CKError.self) {
                _ = try await database.databaseChanges(since: inDatabase)
            }
            #expect(databaseError?.code == .changeTokenExpired)
            #expect(try await database.databaseChanges(since: nil).modifications.map(\.zoneID) == [zone])
        }
    }

    @Test func `B-SYN-14 B-ZN-10 B-ZN-12 zones that were purged or lost their keys are reported with the reason`()
        async throws
    {
        let ends:
            [(CKDatabase.DatabaseChange.Deletion.Reason, @Sendable (Cloud, UserID, ContainerID) async throws -> Void)]
        ends = [
            (.purged, { try await EndZone($0).purge("Notes", of: $1, in: $2, .development) }),
            (.encryptedDataReset, { try await EndZone($0).resetKeys(ofZone: "Notes", of: $1, in: $2, .development) }),
        ]
        for (reason, end) in ends {
            try await ThrowawayCloud.run { cloud in
                let device = try await cloud.device(of: cloud.addUser("ada"))
                let database = device.privateCloudDatabase
                let app = try Notebook(database)
                await app.write("n", "one", edit: 1)
                try await app.syncEngine.sendChanges()
                try await app.syncEngine.fetchChanges()
                let token = try await database.databaseChanges(since: nil).changeToken
                let user = UserID(try await device.userRecordID().recordName)
                try await end(cloud.cloud, user, ContainerID(cloud.container))
                try await app.syncEngine.fetchChanges()
                #expect(await app.deletions.map(\.reason) == [reason])
                #expect(await app.deletions.map(\.zoneID) == [Notebook.zone.zoneID])
                #expect(await app.notes.isEmpty)
                let told = try await database.databaseChanges(since: token)
                #expect(told.deletions.map(\.reason) == [reason])
                #expect(try await names(database, since: token) == ["\(reason) Notes"])
            }
        }
    }

    /// Returns the names that the operation reports for deleted zones.
    private func names(_ database: CKDatabase, since token: CKServerChangeToken) async throws -> [String] {
        let operation = CKFetchDatabaseChangesOperation(previousServerChangeToken: token)
        return try await withCheckedThrowingContinuation { continuation in
            // The operation calls back one after the other.
            nonisolated(unsafe) var names: [String] = []
            operation.recordZoneWithIDWasDeletedBlock = { names.append("deleted \($0.zoneName)") }
            operation.recordZoneWithIDWasPurgedBlock = { names.append("purged \($0.zoneName)") }
            operation.recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock = {
                names.append("encryptedDataReset \($0.zoneName)")
            }
            operation.fetchDatabaseChangesResultBlock = { result in
                continuation.resume(with: result.map { _ in names })
            }
            database.add(operation)
        }
    }
}
