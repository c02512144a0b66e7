import CloudKit
import Testing

/// Uses of records that other users share.
@Suite(.timeLimit(.minutes(20))) struct SharedRecordsTests {
    @Test func `B-PRT-11 a writer changes, adds and deletes records of the tree, but not the root`() async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: ["ben"])
            try await home.accept(share.url, on: home.ben)
            let place = try await home.shared(zone)
            let database = home.ben.sharedCloudDatabase
            func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: place) }
            let root = try await database.record(for: id("Folder"))
            root["title"] = "Our recipes"
            try await database.save(root)
            let added = CKRecord(recordType: "Note", recordID: id("Three"))
            added["title"] = "Three"
            added.setParent(root)
            try await database.save(added)
            try await database.deleteRecord(withID: id("One"))
            let seen = try await home.ada.privateCloudDatabase.recordZoneChanges(inZoneWith: zone, since: nil)
            let names = Set(seen.modificationResultsByID.keys.map(\.recordName)).subtracting([share.recordID.recordName]
            )
            #expect(names == ["Folder", "Two", "Three"])
            // Deleting the root is leaving.
            _ = try? await database.deleteRecord(withID: id("Folder"))
            let kept = try await home.ada.privateCloudDatabase.record(for: folder.recordID)
            #expect(kept["title"] as? String == "Our recipes")
        }
    }

    @Test func `B-ZN-02 zones of one name from two owners are two`() async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let hers = try await home.share(folder, with: ["cat"])
            let database = home.ben.privateCloudDatabase
            try await database.save(CKRecordZone(zoneID: zone))
            let root = CKRecord(recordType: "Folder", recordID: CKRecord.ID(recordName: "Folder", zoneID: zone))
            root["title"] = "Ben's"
            let his = CKShare(rootRecord: root)
            his.publicPermission = .readOnly
            let results = try await database.modifyRecords(saving: [root, his], deleting: [])
            let link = try #require(try results.saveResults[his.recordID]?.get() as? CKShare).url
            try await home.accept(hers.url, on: home.cat)
            try await home.accept(link, on: home.cat)
            let zones = try await home.cat.sharedCloudDatabase.allRecordZones().map(\.zoneID)
            #expect(zones.map(\.zoneName) == ["Notes", "Notes"])
            let owners = [try await home.ada.userRecordID().recordName, try await home.ben.userRecordID().recordName]
            #expect(Set(zones.map(\.ownerName)) == Set(owners))
            for (owner, title) in zip(owners, ["Recipes", "Ben's"]) {
                let place = CKRecordZone.ID(zoneName: "Notes", ownerName: owner)
                let record = try await home.cat.sharedCloudDatabase.record(
                    for: CKRecord.ID(recordName: "Folder", zoneID: place))
                #expect(record["title"] as? String == title)
            }
        }
    }

    @Test func `B-ACC-06 an identity contains the user, the look-up, and whether the user has an account`() async throws
    {
        try await SharingHousehold.run { home in
            let ben = try await home.ada.shareParticipant(forEmailAddress: "ben@example.com").userIdentity
            #expect(ben.userRecordID?.recordName == (try await home.ben.userRecordID().recordName))
            #expect(ben.lookupInfo?.emailAddress == "ben@example.com" && ben.lookupInfo?.userRecordID == nil)
            #expect(ben.hasiCloudAccount)
            let nobody = try await home.ada.shareParticipant(forEmailAddress: "nobody@example.com").userIdentity
            #expect(nobody.userRecordID == nil && nobody.nameComponents == nil && !nobody.hasiCloudAccount)
        }
    }

    @Test func `B-SHN-01 a device without the account's keys joins nothing by a link, and does once it has them`()
        async throws
    {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: [], publicPermission: .readWrite)
            let password = "the operator's password"
            try await home.cloud.setPassword(password, of: "ben@example.com")
            let phone = SigningDevice(home.cloud, "ben-2")
            #expect(try await phone.enter(password, as: "ben@example.com") == .locked)
            let error = await #expect(throws: CKError.self) { try await home.accept(share.url, on: phone.container) }
            #expect(error?.code == .accountTemporarilyUnavailable)
            // Nobody has joined who could never open anything.
            #expect(
                try asShare(try await home.ada.privateCloudDatabase.record(for: share.recordID)).participants.count == 1
            )

            #expect(try await home.signedIn.ben.enter(password, as: "ben@example.com") == .opened)
            #expect(try await phone.enter(password, as: "ben@example.com") == .opened)
            try await home.accept(share.url, on: phone.container)
            let theirs = try await home.shared(zone)
            #expect(try await secret("One", in: theirs, phone.container.sharedCloudDatabase) == "secret of One")
            // The owner's device gives the key to the account, so that the user's other devices have it as well.
            _ = try await home.ada.privateCloudDatabase.record(for: share.recordID)
            #expect(try await secret("One", in: theirs, home.ben.sharedCloudDatabase) == "secret of One")
        }
    }
}
