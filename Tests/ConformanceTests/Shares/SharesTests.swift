import Foundation
import Synchronization
import Testing

@testable import CloudKit

/// Sharing as apps use it: three users against a running cloud.
@Suite(.timeLimit(.minutes(20))) struct SharesTests {
    @Test func `B-SHR-03, B-ACP-01, B-ACP-05 a folder is shared, opened by its link, accepted, read and written`()
        async throws
    {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: ["ben"])
            #expect(folder.share?.recordID == share.recordID)
            #expect(share.participants.count == 2)
            #expect(share.owner.role == .owner)
            #expect(share.currentUserParticipant?.role == .owner)
            let metadata = try await home.ben.shareMetadata(for: try #require(share.url))
            #expect(metadata.containerIdentifier == home.cloud.container)
            #expect(metadata.participantStatus == .pending)
            #expect(metadata.participantPermission == .readWrite)
            #expect(metadata.hierarchicalRootRecordID?.recordName == "Folder")
            #expect(metadata.share[CKShare.SystemFieldKey.title] as? String == "Our recipes")
            let accepted = try await home.ben.accept(metadata)
            #expect(accepted.currentUserParticipant?.acceptanceStatus == .accepted)

            let theirs = try await home.shared(zone)
            let database = home.ben.sharedCloudDatabase
            let zones = try await database.allRecordZones()
            #expect(zones.map(\.zoneID) == [theirs])
            let note = try await database.record(for: CKRecord.ID(recordName: "One", zoneID: theirs))
            #expect(note["title"] as? String == "One")
            #expect(note.recordID.zoneID.ownerName == theirs.ownerName)
            note["title"] = "Uno"
            try await database.save(note)
            let fetched = try await home.ada.privateCloudDatabase.record(
                for: CKRecord.ID(recordName: "One", zoneID: zone))
            #expect(fetched["title"] as? String == "Uno")
            // The owner sees who came.
            let current = try asShare(try await home.ada.privateCloudDatabase.record(for: share.recordID))
            #expect(current.participants.first { $0.role == .privateUser }?.acceptanceStatus == .accepted)
        }
    }

    @Test func `B-SHR-08 a link leads to its share by its token, whatever title follows the number sign`() async throws
    {
        try await SharingHousehold.run { home in
            let (_, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: ["ben"])
            let link = try #require(share.url.flatMap { URLComponents(url: $0, resolvingAgainstBaseURL: false) })
            #expect(link.path.hasPrefix("/share/") && !link.path.dropFirst("/share/".count).contains("/"))
            for title in [nil, "Our_recipes", "k=title", ""] {
                var titled = link
                titled.fragment = title
                let metadata = try await home.ben.shareMetadata(for: try #require(titled.url))
                #expect(metadata.share.recordID.recordName == share.recordID.recordName)
            }
            let accepted = try await home.accept(share.url.flatMap { URL(string: "\($0)#Our_recipes") }, on: home.ben)
            #expect(accepted.currentUserParticipant?.acceptanceStatus == .accepted)
        }
    }

    @Test func `B-SHR-03 a share alone, without its root, is refused`() async throws {
        try await SharingHousehold.run { home in
            let (_, folder, _) = try await home.makeFolder()
            let error = await #expect(throws: CKError.self) {
                _ = try await home.ada.privateCloudDatabase.save(CKShare(rootRecord: folder))
            }
            #expect(error?.code == .invalidArguments)
        }
    }

    @Test func `B-SHR-01, B-ZN-15 a whole zone is shared, and says so`() async throws {
        try await SharingHousehold.run { home in
            let (zone, _, _) = try await home.makeFolder()
            let share = CKShare(recordZoneID: zone)
            try await home.invite(["ben"], to: share)
            let saved = try asShare(try await home.ada.privateCloudDatabase.save(share))
            #expect(saved.recordID.recordName == CKRecordNameZoneWideShare)
            let fetched = try await home.ada.privateCloudDatabase.recordZone(for: zone)
            #expect(fetched.share?.recordID.recordName == CKRecordNameZoneWideShare)
            let metadata = try await home.ben.shareMetadata(for: try #require(saved.url))
            #expect(metadata.hierarchicalRootRecordID == nil)
            #expect(metadata.rootRecord == nil)
            try await home.ben.accept(metadata)
            let theirs = try await home.shared(zone)
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "Ben's", zoneID: theirs))
            record["title"] = "From Ben"
            try await home.ben.sharedCloudDatabase.save(record)
            let changes = try await home.ben.sharedCloudDatabase.recordZoneChanges(inZoneWith: theirs, since: nil)
            #expect(changes.modificationResultsByID.count == 5)
        }
    }

    @Test func `B-PRT-10, B-ACP-06, B-SHF-04 a reader cannot write; leaving and removal end access`()
        async throws
    {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: ["ben", "cat"], permission: .readOnly)
            try await home.accept(share.url, on: home.ben)
            try await home.accept(share.url, on: home.cat)
            let theirs = try await home.shared(zone)
            let id = CKRecord.ID(recordName: "One", zoneID: theirs)
            let note = try await home.ben.sharedCloudDatabase.record(for: id)
            note["title"] = "Uno"
            let refused = await #expect(throws: CKError.self) { _ = try await home.ben.sharedCloudDatabase.save(note) }
            #expect(refused?.code == .permissionFailure)

            let before = try await home.ben.sharedCloudDatabase.databaseChanges(since: nil)
            #expect(before.modifications.map(\.zoneID) == [theirs])
            let shareID = CKRecord.ID(recordName: share.recordID.recordName, zoneID: theirs)
            try await home.ben.sharedCloudDatabase.deleteRecord(withID: shareID)
            let gone = await #expect(throws: CKError.self) {
                _ = try await home.ben.sharedCloudDatabase.record(for: id)
            }
            #expect(gone?.code == .zoneNotFound)
            let after = try await home.ben.sharedCloudDatabase.databaseChanges(since: before.changeToken)
            #expect(after.deletions.map(\.zoneID) == [theirs])

            let current = try asShare(try await home.ada.privateCloudDatabase.record(for: share.recordID))
            let cat = try #require(current.participants.first { $0.role == .privateUser })
            current.removeParticipant(cat)
            try await home.ada.privateCloudDatabase.save(current)
            let removed = await #expect(throws: CKError.self) {
                _ = try await home.cat.sharedCloudDatabase.record(for: id)
            }
            #expect(removed?.code == .zoneNotFound)
        }
    }

    @Test func `B-PRT-02, B-PRT-05 links admit every user; an address without an account is a placeholder`()
        async throws
    {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: [], publicPermission: .readOnly)
            try await home.accept(share.url, on: home.cat)
            let theirs = try await home.shared(zone)
            let note = try await home.cat.sharedCloudDatabase.record(
                for: CKRecord.ID(recordName: "One", zoneID: theirs))
            #expect(note["title"] as? String == "One")
            let nobody = try await home.ada.shareParticipant(forEmailAddress: "dora@example.com")
            #expect(!nobody.userIdentity.hasiCloudAccount)
            #expect(nobody.userIdentity.lookupInfo?.emailAddress == "dora@example.com")
            let somebody = try await home.ada.shareParticipant(forEmailAddress: "ben@example.com")
            #expect(somebody.userIdentity.userRecordID == (try await home.ben.userRecordID()))
        }
    }

    @Test func `B-SAV-07, B-SAV-09 a conflict about a share carries shares under every save policy`() async throws {
        try await SharingHousehold.run { home in
            let (_, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: [])
            let database = home.ada.privateCloudDatabase
            let other = try asShare(try await database.record(for: share.recordID))
            other[CKShare.SystemFieldKey.title] = "Theirs"
            try await database.save(other)
            try await home.invite(["ben"], to: share)
            let failure = await #expect(throws: CKError.self) {
                try await database.modifyRecords(saving: [share], deleting: [], savePolicy: .allKeys)
            }
            let error = failure?.partialErrorsByItemID?[share.recordID] as? CKError
            #expect(error?.code == .serverRecordChanged)
            #expect((error?.serverRecord as? CKShare)?.participants.count == 1)
            #expect((error?.clientRecord as? CKShare)?.participants.count == 2)
            #expect((error?.ancestorRecord as? CKShare)?.participants.count == 1)
        }
    }

    @Test
    func `a share survives archiving, with its participants; changes of them are compared with the archived state`()
        async throws
    {
        try await SharingHousehold.run { home in
            let (_, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: ["ben"])
            let coder = NSKeyedArchiver(requiringSecureCoding: true)
            share.encodeSystemFields(with: coder)
            coder.finishEncoding()
            let decoder = try NSKeyedUnarchiver(forReadingFrom: coder.encodedData)
            let copy = CKShare(coder: decoder)
            #expect(copy.recordID == share.recordID)
            #expect(copy.url == share.url)
            #expect(copy.participants.map(\.participantID) == share.participants.map(\.participantID))
            #expect(try copy.sharing.change() == nil)
            copy.participants.last?.permission = .readOnly
            let saved = try asShare(try await home.ada.privateCloudDatabase.save(copy))
            #expect(saved.participants.last?.permission == .readOnly)
        }
    }

    @Test func `B-PRT-06 removing a user who is not a participant is reported when the share is saved`() async throws {
        try await SharingHousehold.run { home in
            let (_, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: [])
            share.removeParticipant(try await home.ada.shareParticipant(forEmailAddress: "ben@example.com"))
            let error = await #expect(throws: CKError.self) { _ = try await home.ada.privateCloudDatabase.save(share) }
            #expect(error?.code == .invalidArguments)
        }
    }

    @Test func `B-ACP-04 operations fetch, accept and look up participants, each item separately`() async throws {
        try await SharingHousehold.run { home in
            let (_, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: ["ben"])
            let url = try #require(share.url)
            let nowhere = try #require(URL(string: "https://cloud.example.com/share/nowhere"))
            let fetched = await withCheckedContinuation { continuation in
                let found = Locked<[CKShare.Metadata]>([])
                let operation = CKFetchShareMetadataOperation(shareURLs: [url, nowhere])
                operation.shouldFetchRootRecord = true
                operation.perShareMetadataResultBlock = { _, result in
                    if case .success(let metadata) = result { found.change { $0.append(metadata) } }
                }
                operation.fetchShareMetadataResultBlock = { _ in continuation.resume(returning: found.value) }
                home.ben.add(operation)
            }
            #expect(fetched.count == 1)
            #expect(fetched.first?.rootRecord?["title"] as? String == "Recipes")
            let isAccepted = await withCheckedContinuation { continuation in
                let operation = CKAcceptSharesOperation(shareMetadatas: fetched)
                operation.acceptSharesResultBlock = { result in
                    if case .success = result {
                        continuation.resume(returning: true)
                    } else {
                        continuation.resume(returning: false)
                    }
                }
                home.ben.add(operation)
            }
            #expect(isAccepted)
            #expect(try await home.ben.sharedCloudDatabase.allRecordZones().count == 1)
        }
    }
}

/// A value that blocks on other queues may change.
private final class Locked<Value: Sendable>: Sendable {
    private let state: Mutex<Value>

    init(_ value: Value) { state = Mutex(value) }

    var value: Value { state.withLock { $0 } }

    func change(_ body: @Sendable (inout Value) -> Void) { state.withLock { body(&$0) } }
}
