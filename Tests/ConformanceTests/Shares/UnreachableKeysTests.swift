import CloudKit
import CloudKitClient
import FaultyNetwork
import Foundation
import ScriptedCloud
import Synchronization
import Testing

/// Keys of shares that a device has to look up and cannot, because its network is away: the error is that of the network, and no reader of
/// a feed passes over a record.
@Suite(.timeLimit(.minutes(20))) struct UnreachableKeysTests {
    /// Runs a body on a device that has read the feed of a share, was restarted, and has a changed record to read, which opens with the
    /// keys of the records above it.
    private func withChangedNote(
        _ body: (CKDatabase, CKRecord.ID, CKServerChangeToken, _ mend: () -> Void) async throws -> Void
    ) async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, notes) = try await home.makeFolder()
            let share = try await home.share(folder, with: ["ben"])
            try await home.accept(share.url, on: home.ben)
            let theirs = try await home.shared(zone)
            let token = try await home.ben.sharedCloudDatabase.recordZoneChanges(inZoneWith: theirs, since: nil)
                .changeToken
            let note = try await home.ada.privateCloudDatabase.record(for: notes[0].recordID)
            note.encryptedValues["secret"] = "changed"
            try await home.ada.privateCloudDatabase.save(note)
            let clock = ClientClock(now: { .zero }, sleep: { _ in }, random: { 0.5 })
            let network = FaultyTransport(over: HTTPTransport.shared, clientEnvironment: clock) { request in
                request.url.path.hasSuffix("records/lookup") ? .unreachable : nil
            }
            let configuration = home.signedIn.ben.configuration
            try configuration.deviceProfile.age()
            let restarted = CKContainer(
                configuration: configuration, transport: network, clientEnvironment: clock)
            try await body(
                restarted.sharedCloudDatabase, CKRecord.ID(recordName: note.recordID.recordName, zoneID: theirs), token
            ) {
                network.decide { _ in nil }
            }
        }
    }

    /// Also without its sealed fields: the device has seen the record, and has to compare what it states of itself.
    @Test(arguments: [nil, ["title"]])
    func `B-CHG-15 a page of changes waits for the network`(desiredKeys: [String]?) async throws {
        try await withChangedNote { database, id, token, mend in
            let error = await #expect(throws: CKError.self) {
                try await database.recordZoneChanges(inZoneWith: id.zoneID, since: token, desiredKeys: desiredKeys)
            }
            #expect(error?.code == .networkUnavailable)
            mend()
            let page = try await database.recordZoneChanges(inZoneWith: id.zoneID, since: token)
            let record = try page.modificationResultsByID[id]?.get().record
            #expect(record?.encryptedValues["secret"] == "changed")
        }
    }

    /// A device that knows the share's earlier keys, from a time before its user was removed.
    @Test func `B-CHG-15 a page of changes waits for the share's newest key`() async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: ["ben"])
            try await home.accept(share.url, on: home.ben)
            let theirs = try await home.shared(zone)
            let device = try await home.device(of: "ben")
            defer { withExtendedLifetime(device) {} }
            let database = device.container.sharedCloudDatabase
            _ = try await database.recordZoneChanges(inZoneWith: theirs, since: nil)
            try await home.remove("ben", from: share.recordID, by: home.ada)
            let after = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "After", zoneID: zone))
            after.encryptedValues["secret"] = "secret of After"
            after.setParent(folder)
            try await home.ada.privateCloudDatabase.save(after)
            let again = try #require(
                try await home.ada.privateCloudDatabase.record(for: share.recordID) as? CKShare)
            let slot = CKShare.Participant.oneTimeURLParticipant()
            again.addParticipant(slot)
            let saved = try #require(try await home.ada.privateCloudDatabase.save(again) as? CKShare)
            // The link's secret is on the other device alone, until the owner's next look.
            try await home.accept(saved.oneTimeURL(for: slot.participantID), on: home.ben)
            let error = await #expect(throws: CKError.self) {
                try await database.recordZoneChanges(inZoneWith: theirs, since: nil)
            }
            #expect(error?.code == .zoneBusy)
            #expect(error?.localizedDescription.contains("waiting for key") == true)
            _ = try await home.ada.privateCloudDatabase.record(for: share.recordID)
            let page = try await database.recordZoneChanges(inZoneWith: theirs, since: nil)
            let id = CKRecord.ID(recordName: "After", zoneID: theirs)
            let record = try page.modificationResultsByID[id]?.get().record
            #expect(record?.encryptedValues["secret"] == "secret of After")
        }
    }

    /// A new device asks the directory for the owner's identity.
    @Test func `B-CHG-15 a page of changes waits for the directory`() async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: ["ben"])
            try await home.accept(share.url, on: home.ben)
            let theirs = try await home.shared(zone)
            let clock = ClientClock(now: { .zero }, sleep: { _ in }, random: { 0.5 })
            let network = FaultyTransport(over: HTTPTransport.shared, clientEnvironment: clock) { request in
                request.url.path.contains("directory/") ? .unreachable : nil
            }
            let device = try await home.device(of: "ben", over: network, clientEnvironment: clock)
            defer { withExtendedLifetime(device) {} }
            let database = device.container.sharedCloudDatabase
            let error = await #expect(throws: CKError.self) {
                try await database.recordZoneChanges(inZoneWith: theirs, since: nil)
            }
            #expect(error?.code == .zoneBusy)
            network.decide { _ in nil }
            let page = try await database.recordZoneChanges(inZoneWith: theirs, since: nil)
            let secrets = try page.modificationResultsByID.values.compactMap { result in
                try result.get().record.encryptedValues["secret"] as? String
            }
            #expect(secrets.sorted() == ["folder secret", "secret of One", "secret of Two"])
        }
    }

    @Test func `B-CHG-15 an operation keeps its token`() async throws {
        try await withChangedNote { database, id, token, mend in
            let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration()
            configuration.previousServerChangeToken = token
            func run() async -> (records: [CKRecord], result: Result<CKServerChangeToken, any Error>?) {
                let operation = CKFetchRecordZoneChangesOperation(
                    recordZoneIDs: [id.zoneID], configurationsByRecordZoneID: [id.zoneID: configuration])
                let found = Mutex<(records: [CKRecord], result: Result<CKServerChangeToken, any Error>?)>(([], nil))
                operation.recordWasChangedBlock = { _, result in
                    found.withLock { $0.records += (try? result.get()).map { [$0] } ?? [] }
                }
                operation.recordZoneFetchResultBlock = { _, result in
                    found.withLock { $0.result = result.map(\.serverChangeToken) }
                }
                await withCheckedContinuation { continuation in
                    operation.fetchRecordZoneChangesResultBlock = { _ in continuation.resume() }
                    database.add(operation)
                }
                return found.withLock(\.self)
            }
            let (none, failure) = await run()
            #expect(none.isEmpty)
            #expect((try? failure?.get()) == nil)
            mend()
            let (records, _) = await run()
            #expect(records.map { $0.encryptedValues["secret"] } == ["changed"])
        }
    }

    @Test func `a record of a query fails with the error of the network`() async throws {
        try await withChangedNote { database, id, _, mend in
            func found() async throws -> Result<CKRecord, any Error>? {
                let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "title == 'One'"))
                return try await database.records(matching: query, inZoneWith: id.zoneID).matchResults
                    .first { $0.0 == id }?.1
            }
            guard case .failure(let error as CKError)? = try await found() else {
                Issue.record("the record opened")
                return
            }
            #expect(error.code == .networkUnavailable)
            mend()
            #expect(try await found()?.get().encryptedValues["secret"] == "changed")
        }
    }
}
