import CloudKitDevice
import Foundation
import Testing

@testable import CloudKit
@testable import CloudKitClient

/// Calls that began before another user signed in on the device: they belong to the user who was signed in.
@Suite(.timeLimit(.minutes(20))) struct AccountChangeTests {
    /// A device on which Bob may sign in after Ada.
    private struct Device: Sendable {
        let account: SwitchingAccount
        let network = InterruptedTransport()
        let container: CKContainer
        /// A device of Bob's own.
        let bobs: CKContainer
        private let bob: SignedInDevice
        /// Ada's credentials after she has signed in once more.
        private let again: SignedInDevice

        var database: CKDatabase { container.privateCloudDatabase }

        init(_ cloud: ThrowawayCloud) async throws {
            let user = try await cloud.addUser("bob")
            bob = try await cloud.credentials(of: user)
            bobs = try await cloud.device(of: user)
            let ada = try await cloud.addUser("ada")
            account = SwitchingAccount(try await cloud.credentials(of: ada))
            again = try await cloud.credentials(of: ada)
            container = CKContainer(
                identifier: cloud.container, endpoint: cloud.endpoint, account: account, transport: network)
        }

        /// Signs Bob in, in place of Ada.
        func switchUsers() { account.become(bob) }

        /// Signs Ada in again.
        func signInAgain() { account.become(again) }
    }

    private func makeNote(_ name: String, in zone: CKRecordZone.ID = .default) -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        record["text"] = "Ada's"
        record.encryptedValues["secret"] = "Ada's secret"
        return record
    }

    @Test func `B-ACC-02 a save that is sent again does not reach the database of the user who has signed in since`()
        async throws
    {
        try await ThrowawayCloud.run { cloud in
            let device = try await Device(cloud)
            device.network.interrupt("/records/modify", .before) { device.switchUsers() }
            let error = await expect(.notAuthenticated) { try await device.database.save(makeNote("n")) }
            #expect(error?.localizedDescription.contains("Another user has signed in") == true)
            await expect(.unknownItem) {
                _ = try await device.bobs.privateCloudDatabase.record(for: makeNote("n").recordID)
            }
        }
    }

    @Test func `B-ZN-12 what was sealed before the account's keys were reset is not sent again`() async throws {
        try await ThrowawayCloud.run { cloud in
            let network = InterruptedTransport()
            let device = SigningDevice(cloud, over: network)
            _ = try await device.signUp(SharingHousehold.password)
            let database = device.container.privateCloudDatabase
            network.interrupt("/records/modify", .before) { _ = try? await device.reset(SharingHousehold.password) }
            let error = await expect(.accountTemporarilyUnavailable) { try await database.save(makeNote("n")) }
            #expect(error?.localizedDescription.contains("keys were reset") == true)
            await expect(.unknownItem) { _ = try await database.record(for: makeNote("n").recordID) }
            try await database.save(makeNote("n"))
            #expect(try await database.record(for: makeNote("n").recordID).encryptedValues["secret"] == "Ada's secret")
        }
    }

    @Test func `B-ACC-02 a fetch that is sent again does not answer with another user's records`() async throws {
        try await ThrowawayCloud.run { cloud in
            let device = try await Device(cloud)
            try await device.bobs.privateCloudDatabase.save(makeNote("n"))
            device.network.interrupt("/records/lookup", .before) { device.switchUsers() }
            await expect(.notAuthenticated) {
                _ = try await device.database.record(for: makeNote("n").recordID)
            }
        }
    }

    @Test func `B-ACC-02 an answer to the user before is not taken for one to the user who has signed in since`()
        async throws
    {
        try await ThrowawayCloud.run { cloud in
            let device = try await Device(cloud)
            let zone = CKRecordZone(zoneName: "Notes")
            try await device.database.save(zone)
            try await device.database.save(makeNote("n", in: zone.zoneID))
            try await device.bobs.privateCloudDatabase.save(zone)
            try await device.bobs.privateCloudDatabase.save(makeNote("n", in: zone.zoneID))
            device.network.interrupt("/records/lookup", .after) { device.switchUsers() }
            await expect(.notAuthenticated) {
                _ = try await device.database.record(for: makeNote("n", in: zone.zoneID).recordID)
            }
            let record = try await device.database.record(for: makeNote("n", in: zone.zoneID).recordID)
            #expect(record.encryptedValues["secret"] as? String == "Ada's secret")
        }
    }

    @Test func `B-ACC-02 an operation that waited belongs to the user who was signed in when it was added`()
        async throws
    {
        try await ThrowawayCloud.run { cloud in
            let device = try await Device(cloud)
            let first = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
            device.network.interrupt("/zones/list", .after) { device.switchUsers() }
            let save = CKModifyRecordsOperation(recordsToSave: [makeNote("n")], recordIDsToDelete: nil)
            save.addDependency(first)
            let result: Result<Void, any Error> = await withCheckedContinuation { continuation in
                save.modifyRecordsResultBlock = { continuation.resume(returning: $0) }
                device.database.add(first)
                device.database.add(save)
            }
            await expect(.notAuthenticated) { try result.get() }
            await expect(.unknownItem) {
                _ = try await device.bobs.privateCloudDatabase.record(for: makeNote("n").recordID)
            }
        }
    }

    @Test func `B-SYN-12 a batch for the user before is not sent to the one who has signed in since`() async throws {
        try await ThrowawayCloud.run { cloud in
            let device = try await Device(cloud)
            let delegate = OneBatch(.init(recordsToSave: [makeNote("n")])) { device.switchUsers() }
            var configuration = CKSyncEngine.Configuration(
                database: device.database, stateSerialization: nil, delegate: delegate)
            configuration.automaticallySync = false
            let engine = CKSyncEngine(configuration)
            engine.state.add(pendingRecordZoneChanges: [.saveRecord(makeNote("n").recordID)])
            await expect(.notAuthenticated) { try await engine.sendChanges() }
            await expect(.unknownItem) {
                _ = try await device.bobs.privateCloudDatabase.record(for: makeNote("n").recordID)
            }
            // The engine follows the account.
            try await engine.fetchChanges()
            #expect(engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    @Test func `B-TM-08 a device that signs in again while its own entry is looked up raises no alarm`() async throws {
        try await ThrowawayCloud.run { cloud in
            let device = try await Device(cloud)
            let sessions = cloud.accountStore.sessions
            let account = try #require(try await cloud.accountStore.accounts.account(email: "ada@example.com"))
            let first = try #require(device.account.state.device?.id)
            for session in try await sessions.sessions(ofAccount: account.id) where session.id == first {
                #expect(try await sessions.revoke(session.id, ofAccount: account.id).count == 1)
            }
            device.network.interrupt("/directory/lookup", .before) { device.signInAgain() }
            try await device.database.requests().checkOwnEntryIfDue()
            #expect(device.account.state.device?.id != first)
            try await device.database.requests().checkOwnEntryIfDue()
        }
    }

    @Test func `B-ACC-02 a call that began before the same user signed in again goes on`() async throws {
        try await ThrowawayCloud.run { cloud in
            let device = try await Device(cloud)
            device.network.interrupt("/records/modify", .before) { device.signInAgain() }
            try await device.database.save(makeNote("n"))
        }
    }
}
