import Foundation
import Testing

@testable import CloudKit

/// Leaving and stopping: a participant gives up a slot and never takes the owner's data along (B-ACP-06 to B-ACP-11).
@Suite(.timeLimit(.minutes(20))) struct LeavingTests {
    private func withGuest(
        _ body: (SharingHousehold, CKRecordZone.ID, CKRecordZone.ID, CKShare) async throws -> Void
    ) async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: ["ben", "cat"])
            try await home.accept(share.url, on: home.ben)
            try await home.accept(share.url, on: home.cat)
            try await body(home, zone, try await home.shared(zone), share)
        }
    }

    /// Returns whether all of the owner's records exist.
    private func isWhole(_ home: SharingHousehold, _ zone: CKRecordZone.ID, _ share: CKShare) async throws -> Bool {
        let names = ["Folder", "One", "Two", share.recordID.recordName]
        let records = try await home.ada.privateCloudDatabase.records(
            for: names.map { CKRecord.ID(recordName: $0, zoneID: zone) })
        return records.values.allSatisfy { if case .success = $0 { true } else { false } }
    }

    @Test func `B-ACP-06, B-ACP-07 deleting the share, the root or the zone is leaving, and takes nothing along`()
        async throws
    {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: [])
            let theirs = try await home.shared(zone)
            let database = home.ben.sharedCloudDatabase
            let ways: [() async throws -> Void] = [
                {
                    try await database.deleteRecord(
                        withID: CKRecord.ID(recordName: share.recordID.recordName, zoneID: theirs))
                },
                { try await database.deleteRecord(withID: CKRecord.ID(recordName: "Folder", zoneID: theirs)) },
                { try await database.deleteRecordZone(withID: theirs) },
            ]
            for leave in ways {
                let current = try asShare(try await home.ada.privateCloudDatabase.record(for: share.recordID))
                try await home.invite(["ben"], to: current)
                try await home.ada.privateCloudDatabase.save(current)
                try await home.accept(share.url, on: home.ben)
                try await leave()
                #expect(try await isWhole(home, zone, share))
                let left = try asShare(try await home.ada.privateCloudDatabase.record(for: share.recordID))
                #expect(left.participants.count == 1)
                #expect(try await database.allRecordZones().isEmpty)
                // From now on nothing there can be deleted, and the link does not lead back in.
                let one = CKRecord.ID(recordName: "One", zoneID: theirs)
                #expect(await code { try await database.deleteRecord(withID: one) } == .zoneNotFound)
                #expect(await code { try await home.accept(share.url, on: home.ben) } == .unknownItem)
            }
        }
    }

    @Test func `B-ACP-06 a request that leaves a share and deletes records deletes nothing of the owner's`()
        async throws
    {
        try await withGuest { home, zone, theirs, share in
            let ids = [share.recordID.recordName, "One", "Two", "Folder"].map {
                CKRecord.ID(recordName: $0, zoneID: theirs)
            }
            let results = try await home.ben.sharedCloudDatabase.modifyRecords(saving: [], deleting: ids)
            for result in results.deleteResults.values { #expect(throws: Never.self) { try result.get() } }
            #expect(try await home.ben.sharedCloudDatabase.allRecordZones().isEmpty)
            #expect(try await isWhole(home, zone, share))
            // The other guest notices nothing.
            _ = try await home.cat.sharedCloudDatabase.record(for: CKRecord.ID(recordName: "Two", zoneID: theirs))
        }
    }

    @Test func `B-ACP-08 the owner deletes the share: all lose access, records stay, the root says so`() async throws {
        try await withGuest { home, zone, theirs, share in
            let database = home.ada.privateCloudDatabase
            let rootID = CKRecord.ID(recordName: "Folder", zoneID: zone)
            let before = try await database.record(for: rootID)
            #expect(before.share != nil)
            try await database.deleteRecord(withID: share.recordID)
            let root = try await database.record(for: rootID)
            #expect(root.share == nil)
            #expect(root.recordChangeTag != before.recordChangeTag)
            before["title"] = "stale"
            #expect(await code { try await database.save(before) } == .serverRecordChanged)
            for device in [home.ben, home.cat] {
                let one = CKRecord.ID(recordName: "One", zoneID: theirs)
                #expect(await code { _ = try await device.sharedCloudDatabase.record(for: one) } == .zoneNotFound)
            }
            _ = try await database.record(for: CKRecord.ID(recordName: "One", zoneID: zone))
            // Shared again, the root has the same address (B-SHR-07).
            let again = try await home.share(root, with: ["ben"])
            #expect(again.url == share.url)
        }
    }

    @Test func `B-ACP-09 deleting the root deletes the share; deleting the zone deletes everything`()
        async throws
    {
        try await withGuest { home, zone, theirs, share in
            let database = home.ada.privateCloudDatabase
            let tree = ["Folder", "One", "Two"].map { CKRecord.ID(recordName: $0, zoneID: zone) }
            try await database.modifyRecords(saving: [], deleting: tree)
            #expect(await code { _ = try await database.record(for: share.recordID) } == .unknownItem)
            #expect(try await home.ben.sharedCloudDatabase.allRecordZones().isEmpty)
            #expect(await code { try await home.accept(share.url, on: home.ben) } == .unknownItem)
        }
        try await withGuest { home, zone, theirs, share in
            try await home.ada.privateCloudDatabase.deleteRecordZone(withID: zone)
            #expect(try await home.cat.sharedCloudDatabase.allRecordZones().isEmpty)
            #expect(await code { try await home.accept(share.url, on: home.ben) } == .unknownItem)
        }
    }

    @Test func `B-ACP-10, B-SHF-04 a removed participant learns of it from the database's feed only`() async throws {
        try await withGuest { home, _, theirs, share in
            let feed = try await home.ben.sharedCloudDatabase.databaseChanges(since: nil)
            let current = try asShare(try await home.ada.privateCloudDatabase.record(for: share.recordID))
            let ben = try #require(
                current.participants.first { $0.userIdentity.lookupInfo?.emailAddress == "ben@example.com" })
            current.removeParticipant(ben)
            try await home.ada.privateCloudDatabase.save(current)
            let after = try await home.ben.sharedCloudDatabase.databaseChanges(since: feed.changeToken)
            #expect(after.deletions.map(\.zoneID) == [theirs])
            #expect(after.deletions.map(\.reason) == [.deleted])
            #expect(await code { try await home.accept(share.url, on: home.ben) } == .unknownItem)
        }
    }

    @Test func `B-ACP-02, B-ACP-03 a private share is hidden from non-members, and they cannot join it`() async throws {
        try await SharingHousehold.run { home in
            let (_, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: ["ben"])
            let url = try #require(share.url)
            #expect(await code { _ = try await home.cat.shareMetadata(for: url) } == .unknownItem)
            // Metadata that another user fetched does not admit its holder.
            let bens = try await home.ben.shareMetadata(for: url)
            #expect(await code { try await home.cat.accept(bens) } == .permissionFailure)
            // While an invitation waits for an address, others are sent to prove theirs.
            let current = try asShare(try await home.ada.privateCloudDatabase.record(for: share.recordID))
            try await home.invite(["dora"], to: current)
            try await home.ada.privateCloudDatabase.save(current)
            #expect(
                await code { _ = try await home.cat.shareMetadata(for: url) } == .participantMayNeedVerification)
        }
    }
}
