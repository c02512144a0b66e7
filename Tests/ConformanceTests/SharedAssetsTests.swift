import CloudKitEncryption
import CloudKitModel
import Foundation
import Testing

@testable import CloudKit
@testable import CloudKitClient

/// Files in shares: they open for participants, on each of their devices, and for no one else.
@Suite(.timeLimit(.minutes(20))) struct SharedAssetsTests {
    private let files: TestFiles

    init() throws { files = try TestFiles() }

    private static let size = 70_000

    /// A photo with a file and a list of files.
    private func photo(_ name: String, in zone: CKRecordZone.ID, below parent: String?) throws -> CKRecord {
        let photo = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        photo["image"] = try files.asset(name, Self.size)
        photo["pages"] = [try files.asset(name + "-1", 10), try files.asset(name + "-2", 0)]
        if let parent { photo.setParent(CKRecord.ID(recordName: parent, zoneID: zone)) }
        return photo
    }

    private func expectFiles(
        _ name: String, in zone: CKRecordZone.ID, _ database: CKDatabase, as content: String? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let record = try await database.record(for: CKRecord.ID(recordName: name, zoneID: zone))
        try expectFiles(of: record, as: content ?? name, sourceLocation)
    }

    private func expectFiles(of record: CKRecord, as content: String, _ sourceLocation: SourceLocation) throws {
        #expect(
            try contents(record["image"]) == TestFiles.bytes(content, Self.size), sourceLocation: sourceLocation)
        #expect(
            try (record["pages"] as? [CKAsset])?.map { try contents($0) }
                == [TestFiles.bytes(content + "-1", 10), []], sourceLocation: sourceLocation)
    }

    @Test func `B-AST-01, B-PRT-10, B-PRT-14 files open for writers, for readers, and for the owner`()
        async throws
    {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let (ada, ben, cat) = (
                home.ada.privateCloudDatabase, home.ben.sharedCloudDatabase, home.cat.sharedCloudDatabase
            )
            try await ada.save(try photo("Owner's", in: zone, below: "Folder"))
            let root = try await ada.record(for: folder.recordID)
            let share = CKShare(rootRecord: root)
            try await home.invite(["ben"], to: share)
            try await home.invite(["cat"], to: share, .readOnly)
            let saved = try await home.save(share, with: root)
            try await home.accept(saved.url, on: home.ben)
            try await home.accept(saved.url, on: home.cat)
            let theirs = try await home.shared(zone)
            for database in [ben, cat] { try await expectFiles("Owner's", in: theirs, database) }

            // A member adds a child with files, and one below that without a key of the zone.
            try await ben.save(try photo("Ben's", in: theirs, below: "Owner's"))
            let adasOther = try await home.device(of: "ada")
            let bensOther = try await home.device(of: "ben")
            for database in [ada, adasOther.container.privateCloudDatabase] {
                try await expectFiles("Ben's", in: zone, database)
            }
            for database in [cat, bensOther.container.sharedCloudDatabase] {
                try await expectFiles("Ben's", in: theirs, database)
            }

            // Each changes the other's record.
            let owners = try await ben.record(for: CKRecord.ID(recordName: "Owner's", zoneID: theirs))
            owners["image"] = try files.asset("other", Self.size)
            try await ben.save(owners)
            let bens = try await ada.record(for: CKRecord.ID(recordName: "Ben's", zoneID: zone))
            bens["title"] = "kept its files"
            bens.encryptedValues["note"] = "sealed beside them"
            try await ada.save(bens)
            try await expectFiles("Ben's", in: theirs, cat)
            let image = try await cat.record(for: owners.recordID)["image"]
            #expect(try contents(image) == TestFiles.bytes("other", Self.size))

            // A reader sends no file.
            let read = try await cat.record(for: CKRecord.ID(recordName: "Ben's", zoneID: theirs))
            read["image"] = try files.asset("refused", 100)
            #expect(await code { try await cat.save(read) } == .permissionFailure)
            #expect(
                await code { try await cat.save(try photo("Cat's", in: theirs, below: "Folder")) } == .permissionFailure
            )

            // Feeds and queries bring the files, too.
            let changes = try await cat.recordZoneChanges(inZoneWith: theirs, since: nil)
            let followed = try changes.modificationResultsByID[read.recordID]?.get().record
            try expectFiles(of: try #require(followed), as: "Ben's", #_sourceLocation)
            let query = CKQuery(recordType: "Photo", predicate: NSPredicate(format: "title BEGINSWITH 'kept'"))
            let found = try await ben.records(matching: query, inZoneWith: theirs).matchResults
            try expectFiles(of: try #require(try found.first?.1.get()), as: "Ben's", #_sourceLocation)
        }
    }

    @Test func `B-SHR-06 in a zone that is shared as a whole members read and add files`() async throws {
        try await SharingHousehold.run { home in
            let (zone, _, _) = try await home.makeFolder()
            let (ada, ben) = (home.ada.privateCloudDatabase, home.ben.sharedCloudDatabase)
            try await ada.save(try photo("Owner's", in: zone, below: nil))
            let share = CKShare(recordZoneID: zone)
            try await home.invite(["ben"], to: share)
            try await home.accept(try asShare(try await ada.save(share)).url, on: home.ben)
            let theirs = try await home.shared(zone)
            try await expectFiles("Owner's", in: theirs, ben)
            try await ben.save(try photo("Ben's", in: theirs, below: nil))
            try await expectFiles("Ben's", in: zone, ada)
        }
    }

    @Test func `B-TM-07 the link's fragment opens files, and its address without it opens none`() async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let ada = home.ada.privateCloudDatabase
            try await ada.save(try photo("Owner's", in: zone, below: "Folder"))
            let share = try await home.share(ada.record(for: folder.recordID), with: [], publicPermission: .readWrite)
            let url = try #require(share.url)
            let bare = try #require(URL(string: url.absoluteString.prefix { $0 != "#" }.description))
            try await home.accept(bare, on: home.ben)
            try await home.accept(url, on: home.cat)
            let theirs = try await home.shared(zone)
            let cat = home.cat.sharedCloudDatabase
            try await expectFiles("Owner's", in: theirs, cat)
            try await cat.save(try photo("Cat's", in: theirs, below: "Folder"))
            try await expectFiles("Cat's", in: zone, ada)
            let ben = home.ben.sharedCloudDatabase
            #expect(await code { try await expectFiles("Owner's", in: theirs, ben) } == .zoneBusy)
            #expect(await code { try await ben.save(try photo("Ben's", in: theirs, below: "Folder")) } == .zoneBusy)
            // The whole link, opened later, is enough.
            _ = try await home.ben.shareMetadata(for: url)
            try await expectFiles("Owner's", in: theirs, ben)
        }
    }

    @Test func `B-TM-06 files wait for a key until the owner's next device hands it out`() async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let ada = home.ada.privateCloudDatabase
            try await ada.save(try photo("Owner's", in: zone, below: "Folder"))
            let share = try await home.share(ada.record(for: folder.recordID), with: ["dora"])
            let dora = try await home.newcomer("dora")
            try await home.accept(share.url, on: dora.container)
            let theirs = try await home.shared(zone)
            let database = dora.container.sharedCloudDatabase
            #expect(await code { try await expectFiles("Owner's", in: theirs, database) } == .zoneBusy)
            let again = try await home.device(of: "ada")
            _ = try await again.container.privateCloudDatabase.recordZoneChanges(inZoneWith: zone, since: nil)
            try await expectFiles("Owner's", in: theirs, database)
            try await database.save(try photo("Dora's", in: theirs, below: "Folder"))
            try await expectFiles("Dora's", in: zone, ada)
        }
    }

    @Test func `B-TM-11, B-SHF-06 files enter the tree with their records, and with the records below those`()
        async throws
    {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let ada = home.ada.privateCloudDatabase
            let album = try photo("Album", in: zone, below: nil)
            let inside = try photo("Inside", in: zone, below: "Album")
            _ = try await ada.modifyRecords(saving: [album, inside], deleting: [])
            let share = try await home.share(folder, with: ["ben"])
            try await home.accept(share.url, on: home.ben)
            let theirs = try await home.shared(zone)
            let ben = home.ben.sharedCloudDatabase
            #expect(await code { try await expectFiles("Inside", in: theirs, ben) } == .unknownItem)
            // Another device moves it, with nothing but the record as the cloud holds it.
            let device = try await home.device(of: "ada")
            let other = device.container.privateCloudDatabase
            let moved = try await other.record(for: album.recordID)
            moved.setParent(CKRecord.ID(recordName: "Folder", zoneID: zone))
            try await other.save(moved)
            for name in ["Album", "Inside"] { try await expectFiles(name, in: theirs, ben) }
            // Out again, it is the owner's alone.
            moved.setParent(nil as CKRecord?)
            try await other.save(moved)
            #expect(await code { try await expectFiles("Inside", in: theirs, ben) } == .unknownItem)
            for name in ["Album", "Inside"] { try await expectFiles(name, in: zone, ada) }
        }
    }

    @Test
    func `B-TM-05 a removed participant opens no file that is saved afterwards, even with all of the server's data`()
        async throws
    {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let (ada, cat) = (home.ada.privateCloudDatabase, home.cat.sharedCloudDatabase)
            for name in ["Kept", "Changed", "Touched"] {
                try await ada.save(try photo(name, in: zone, below: "Folder"))
            }
            let share = try await home.share(ada.record(for: folder.recordID), with: ["ben", "cat"])
            try await home.accept(share.url, on: home.ben)
            try await home.accept(share.url, on: home.cat)
            let theirs = try await home.shared(zone)
            try await expectFiles("Kept", in: theirs, home.ben.sharedCloudDatabase)
            var spy = try await Spy(home.ben, zone: theirs)
            try await home.remove("ben", from: share.recordID, by: home.ada)

            try await ada.save(try photo("After", in: zone, below: "Kept"))
            try await cat.save(try photo("Cat's", in: theirs, below: "Folder"))
            let changed = try await cat.record(for: CKRecord.ID(recordName: "Changed", zoneID: theirs))
            changed["image"] = try files.asset("new", Self.size)
            try await cat.save(changed)
            let touched = try await ada.record(for: CKRecord.ID(recordName: "Touched", zoneID: zone))
            touched["title"] = "same files"
            touched.encryptedValues["note"] = "sealed anew"
            try await ada.save(touched)
            // Members go on.
            try await expectFiles("After", in: theirs, cat)
            try await expectFiles("Cat's", in: zone, ada)
            try await expectFiles("Touched", in: theirs, cat)
            let image = try await ada.record(for: CKRecord.ID(recordName: "Changed", zoneID: zone))["image"]
            #expect(try contents(image) == TestFiles.bytes("new", Self.size))

            let names = ["Kept", "Changed", "Touched", "After", "Cat's", share.recordID.recordName]
            let raw = try await cat.requests().looked(at: names, in: theirs.model)
            #expect(raw.count == names.count)
            spy.take(raw)
            #expect(spy.opened(raw) == ["Kept"])
        }
    }
}
