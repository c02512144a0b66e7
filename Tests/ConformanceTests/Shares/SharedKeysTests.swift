import CloudKitEncryption
import CloudKitModel
import FaultyNetwork
import Foundation
import Synchronization
import Testing

@testable import CloudKit
@testable import CloudKitClient

/// Encrypted values in shares: they open for participants, on each of their devices, and for no one else.
@Suite(.timeLimit(.minutes(20))) struct SharedKeysTests {
    private func note(_ name: String, in zone: CKRecordZone.ID, below parent: String?) -> CKRecord {
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        note.encryptedValues["secret"] = "secret of \(name)"
        if let parent { note.setParent(CKRecord.ID(recordName: parent, zoneID: zone)) }
        return note
    }

    @Test func `B-REC-08 a restarted device reads unsealed fields of a share before others`() async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: ["ben"])
            try await home.accept(share.url, on: home.ben)
            let theirs = try await home.shared(zone)
            // The device remembers the version, with its sealed value.
            #expect(try await secret("One", in: theirs, home.ben.sharedCloudDatabase) == "secret of One")
            let restarted = CKContainer(configuration: home.signedIn.ben.configuration).sharedCloudDatabase
            let id = CKRecord.ID(recordName: "One", zoneID: theirs)
            let one = try await restarted.records(for: [id], desiredKeys: ["title"])[id]?.get()
            #expect(one?["title"] == "One")
            // Nothing was lost by it.
            #expect(try await secret("One", in: theirs, restarted) == "secret of One")
        }
    }

    @Test(arguments: ["ada", "ben"])
    func `keys of a share that a device has are not asked for again, nor a feed that was read to its end`(
        name: String
    ) async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: ["ben"])
            try await home.accept(share.url, on: home.ben)
            let paths = Mutex<[String]>([])
            let clock = ClientClock(now: { .zero }, sleep: { _ in }, random: { 0.5 })
            let network = FaultyTransport(over: HTTPTransport.shared, clientEnvironment: clock) { request in
                paths.withLock { $0.append(request.url.pathComponents.suffix(2).joined(separator: "/")) }
                return nil
            }
            func requests(_ body: () async throws -> Void) async throws -> [String] {
                paths.withLock { $0 = [] }
                try await body()
                return paths.withLock(\.self)
            }
            let device = try await home.device(of: name, over: network, clientEnvironment: clock)
            defer { withExtendedLifetime(device) {} }
            let database =
                name == "ada" ? device.container.privateCloudDatabase : device.container.sharedCloudDatabase
            let id = CKRecord.ID(recordName: "One", zoneID: name == "ada" ? zone : try await home.shared(zone))
            func edit(_ text: String) async throws {
                let one = try await database.record(for: id)
                one.encryptedValues["secret"] = text
                try await database.save(one)
            }
            let first = try await requests { try await edit("first") }
            let second = try await requests { try await edit("second") }
            #expect(second == ["records/lookup", "records/modify"], "first \(first), then \(second)")
            guard name == "ada" else { return }
            // The end of a share begins a key epoch, and the next share of the zone reads what lies in its tree.
            try await database.deleteRecord(withID: share.recordID)
            let root = try await database.record(for: folder.recordID)
            let again = try await requests {
                let results = try await database.modifyRecords(saving: [root, CKShare(rootRecord: root)], deleting: [])
                for result in results.saveResults.values { _ = try result.get() }
            }
            #expect(again.count { $0 == "changes/zone" } == 1, "\(again)")
        }
    }

    @Test
    func
        `B-SHR-01 a participant opens the tree, adds to it, and all participants open the addition, also on other devices`()
        async throws
    {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: ["ben", "cat"])
            try await home.accept(share.url, on: home.ben)
            try await home.accept(share.url, on: home.cat)
            let theirs = try await home.shared(zone)
            let (ada, ben, cat) = (
                home.ada.privateCloudDatabase, home.ben.sharedCloudDatabase, home.cat.sharedCloudDatabase
            )
            #expect(try await secret("Folder", in: theirs, ben) == "folder secret")
            #expect(try await secret("One", in: theirs, ben) == "secret of One")
            // A member adds a note, and one below that, in one request.
            let added = note("Ben's", in: theirs, below: "Folder")
            let below = note("Below", in: theirs, below: "Ben's")
            let results = try await ben.modifyRecords(saving: [below, added], deleting: [])
            for result in results.saveResults.values { _ = try result.get() }
            let again = try await home.device(of: "ada")
            let bensOther = try await home.device(of: "ben")
            for database in [ada, again.container.privateCloudDatabase] {
                #expect(try await secret("Ben's", in: zone, database) == "secret of Ben's")
                #expect(try await secret("Below", in: zone, database) == "secret of Below")
            }
            for database in [cat, bensOther.container.sharedCloudDatabase] {
                #expect(try await secret("Below", in: theirs, database) == "secret of Below")
            }
            // The owner changes the participant's record, and adds below it.
            let bens = try await ada.record(for: CKRecord.ID(recordName: "Ben's", zoneID: zone))
            bens.encryptedValues["secret"] = "Ada was here"
            _ = try await ada.modifyRecords(saving: [bens, note("Deep", in: zone, below: "Below")], deleting: [])
            #expect(try await secret("Ben's", in: theirs, cat) == "Ada was here")
            #expect(try await secret("Deep", in: theirs, ben) == "secret of Deep")
            // Feeds give the same.
            let changes = try await cat.recordZoneChanges(inZoneWith: theirs, since: nil)
            for result in changes.modificationResultsByID.values { _ = try result.get() }
            #expect(changes.modificationResultsByID.count == 7)
        }
    }

    @Test func `B-SHR-06 a zone that is shared as a whole opens for its members, old and new records`() async throws {
        try await SharingHousehold.run { home in
            let (zone, _, _) = try await home.makeFolder()
            let share = CKShare(recordZoneID: zone)
            try await home.invite(["ben"], to: share)
            let saved = try asShare(try await home.ada.privateCloudDatabase.save(share))
            try await home.accept(saved.url, on: home.ben)
            let theirs = try await home.shared(zone)
            #expect(try await secret("Two", in: theirs, home.ben.sharedCloudDatabase) == "secret of Two")
            try await home.ben.sharedCloudDatabase.save(note("Ben's", in: theirs, below: nil))
            #expect(try await secret("Ben's", in: zone, home.ada.privateCloudDatabase) == "secret of Ben's")
        }
    }

    @Test func `B-TM-07 a user with the link opens the share, and its URL without the secret opens nothing`()
        async throws
    {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: [], publicPermission: .readWrite)
            let url = try #require(share.url)
            #expect(url.fragment?.hasPrefix("k=") == true)
            try await home.accept(url, on: home.cat)
            let theirs = try await home.shared(zone)
            #expect(try await secret("One", in: theirs, home.cat.sharedCloudDatabase) == "secret of One")
            // Members show the same link.
            let seen = try await home.cat.sharedCloudDatabase.record(
                for: CKRecord.ID(recordName: share.recordID.recordName, zoneID: theirs))
            #expect((seen as? CKShare)?.url == url)

            let bare = try #require(URL(string: url.absoluteString.prefix { $0 != "#" }.description))
            try await home.accept(bare, on: home.ben)
            let error = await #expect(throws: CKError.self) {
                try await secret("One", in: theirs, home.ben.sharedCloudDatabase)
            }
            #expect(error?.code == .zoneBusy)
            #expect(error?.localizedDescription.contains("waiting for key") == true)
        }
    }

    @Test
    func `B-TM-06, B-PRT-05 a user invited before having an account waits for keys until the owner's next device`()
        async throws
    {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: ["dora"])
            let dora = try await home.newcomer("dora")
            try await home.accept(share.url, on: dora.container)
            let theirs = try await home.shared(zone)
            let database = dora.container.sharedCloudDatabase
            let error = await #expect(throws: CKError.self) { try await secret("One", in: theirs, database) }
            #expect(error?.localizedDescription.contains("waiting for key") == true)
            // A feed is not passed over meanwhile.
            let feed = await #expect(throws: CKError.self) {
                _ = try await database.recordZoneChanges(inZoneWith: theirs, since: nil)
            }
            #expect(feed?.localizedDescription.contains("waiting for key") == true)
            let again = try await home.device(of: "ada")
            _ = try await again.container.privateCloudDatabase.record(for: share.recordID)
            #expect(try await secret("One", in: theirs, database) == "secret of One")
        }
    }

    @Test
    func `B-TM-05 a removed participant opens no value that is written afterwards, even with all of the server's data`()
        async throws
    {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: ["ben", "cat"])
            try await home.accept(share.url, on: home.ben)
            try await home.accept(share.url, on: home.cat)
            let theirs = try await home.shared(zone)
            #expect(try await secret("One", in: theirs, home.ben.sharedCloudDatabase) == "secret of One")
            let requests = home.ben.sharedCloudDatabase.requests()
            var bens = try await requests.zoneKeys(theirs.model)

            let ada = home.ada.privateCloudDatabase
            let current = try asShare(try await ada.record(for: share.recordID))
            let ben = try #require(
                current.participants.first { $0.userIdentity.lookupInfo?.emailAddress == "ben@example.com" })
            current.removeParticipant(ben)
            try await ada.save(current)
            // The owner and a member write: new records, and one that was there.
            try await ada.save(note("After", in: zone, below: "Folder"))
            let one = try await ada.record(for: CKRecord.ID(recordName: "One", zoneID: zone))
            one.encryptedValues["secret"] = "new secret"
            try await ada.save(one)
            let cat = home.cat.sharedCloudDatabase
            try await cat.save(note("Cat's", in: theirs, below: "Folder"))
            #expect(try await secret("Cat's", in: zone, ada) == "secret of Cat's")
            #expect(try await secret("After", in: theirs, cat) == "secret of After")
            #expect(try await secret("One", in: theirs, cat) == "new secret")
            #expect(try await secret("Two", in: theirs, cat) == "secret of Two")

            // A hostile server sends Ben everything that it has, also another participant's data.
            let names = ["Folder", "One", "Two", "After", "Cat's", share.recordID.recordName]
            let raw = try await cat.requests().looked(at: names, in: theirs.model)
            #expect(raw.count == names.count)
            for record in raw where record.sharing != nil { bens = (try? requests.opened(record, with: bens)) ?? bens }
            bens.learn(raw)
            for record in raw where record.isSealed {
                let isOld = ["Folder", "Two"].contains(record.id.recordName)
                if isOld {
                    #expect(throws: Never.self) { _ = try bens.cipher(opening: record) }
                } else {
                    #expect(throws: EncryptionError.self) { _ = try bens.cipher(opening: record) }
                }
            }
        }
    }

    @Test func `B-TM-11 records moved into the tree open for participants, and plain records need no keys`()
        async throws
    {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let ada = home.ada.privateCloudDatabase
            let outside = note("Outside", in: zone, below: nil)
            try await ada.save(outside)
            let share = try await home.share(folder, with: ["ben"])
            try await home.accept(share.url, on: home.ben)
            let theirs = try await home.shared(zone)
            let ben = home.ben.sharedCloudDatabase
            let hidden = await #expect(throws: CKError.self) { try await secret("Outside", in: theirs, ben) }
            #expect(hidden?.code == .unknownItem)
            outside.setParent(folder)
            try await ada.save(outside)
            #expect(try await secret("Outside", in: theirs, ben) == "secret of Outside")
        }
    }

    @Test func `B-TM-11 records below one that is moved into the tree open as well, if they are of later epochs`()
        async throws
    {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let ada = home.ada.privateCloudDatabase
            try await ada.save(note("Box", in: zone, below: nil))
            try await ada.save(note("Inner", in: zone, below: "Box"))
            let share = try await home.share(folder, with: ["ben"])
            try await home.accept(share.url, on: home.ben)
            for name in ["Late", "Later"] {
                try await ada.requests().raiseKeyEpoch(of: zone.model)
                try await ada.save(note(name, in: zone, below: "Inner"))
                try await ada.save(note(name + " below", in: zone, below: name))
            }
            let box = try await ada.record(for: CKRecord.ID(recordName: "Box", zoneID: zone))
            box.setParent(folder.recordID)
            try await ada.save(box)
            let theirs = try await home.shared(zone)
            let again = try await home.device(of: "ben")
            for database in [home.ben.sharedCloudDatabase, again.container.sharedCloudDatabase] {
                for name in ["Box", "Inner", "Late", "Late below", "Later", "Later below"] {
                    #expect(try await secret(name, in: theirs, database) == "secret of \(name)")
                }
            }
        }
    }

    @Test func `B-SHR-07 the URL of a tree opens it again when it is shared again`() async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let first = try await home.share(folder, with: [], publicPermission: .readWrite)
            let url = try #require(first.url)
            try await home.accept(url, on: home.cat)
            let database = home.ada.privateCloudDatabase
            try await database.deleteRecord(withID: first.recordID)
            let again = try await home.share(
                database.record(for: folder.recordID), with: [], publicPermission: .readWrite)
            #expect(again.recordID != first.recordID)
            #expect(again.url == url)
            let theirs = try await home.shared(zone)
            for device in [home.cat, home.ben] {
                try await home.accept(url, on: device)
                #expect(try await secret("One", in: theirs, device.sharedCloudDatabase) == "secret of One")
            }
            // The owner's device finds the proof of the link valid, and gives them keys of their own.
            let seen = try #require(try await database.record(for: again.recordID) as? CKShare)
            #expect(seen.url == url)
            let other = try await home.device(of: "ben")
            #expect(try await secret("One", in: theirs, other.container.sharedCloudDatabase) == "secret of One")
        }
    }

    @Test(arguments: [false, true])
    func `B-TM-05 a member who joins after many key epochs opens what was sealed in the first`(isWhole: Bool)
        async throws
    {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let ada = home.ada.privateCloudDatabase
            let first = isWhole ? CKShare(recordZoneID: zone) : CKShare(rootRecord: folder)
            try await home.invite(["ben"], to: first)
            let saved = try await ada.modifyRecords(saving: isWhole ? [first] : [folder, first], deleting: [])
            var share = try asShare(try #require(saved.saveResults[first.recordID]).get())
            try await home.accept(share.url, on: home.ben)
            let theirs = try await home.shared(zone)
            share = try asShare(try await ada.record(for: share.recordID))
            // An answer carries 16 epochs.
            for _ in 0..<40 {
                try await home.invite(["cat"], to: share)
                share = try asShare(try await ada.save(share))
                // Looking at the share gives the key, and begins the next epoch once it is due.
                share = try asShare(try await ada.record(for: share.recordID))
                try await home.remove("cat", from: share.recordID, by: home.ada)
                share = try asShare(try await ada.record(for: share.recordID))
            }
            let dan = try await home.newcomer("dan")
            try await home.invite(["dan"], to: share)
            share = try asShare(try await ada.save(share))
            try await home.accept(share.url, on: dan.container)
            let epoch = try await ada.requests().looked(at: [share.recordID.recordName], in: zone.model).first?.sharing?
                .keys?.epoch
            #expect(epoch ?? 0 > 40)
            let database = dan.container.sharedCloudDatabase
            let page = try await database.recordZoneChanges(inZoneWith: theirs, since: nil)
            for (_, result) in page.modificationResultsByID { _ = try result.get() }
            #expect(try await secret("One", in: theirs, database) == "secret of One")
            try await write("dan's", to: "One", in: theirs, database)
            #expect(try await secret("One", in: theirs, home.ben.sharedCloudDatabase) == "dan's")
            #expect(try await secret("One", in: zone, ada) == "dan's")
        }
    }

    @Test func `B-SHN-01 a one-time link opens the share for its first user only`() async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let share = CKShare(rootRecord: folder)
            let slot = CKShare.Participant.oneTimeURLParticipant()
            share.addParticipant(slot)
            let saved = try await home.save(share, with: folder)
            let url = try #require(saved.oneTimeURL(for: slot.participantID))
            try await home.accept(url, on: home.ben)
            let theirs = try await home.shared(zone)
            #expect(try await secret("One", in: theirs, home.ben.sharedCloudDatabase) == "secret of One")
            await #expect(throws: CKError.self) { _ = try await home.accept(url, on: home.cat) }
            // The link's secret is on that device alone: the person's others get the key from the owner's next look.
            let other = try await home.device(of: "ben")
            _ = try await home.ada.privateCloudDatabase.record(for: saved.recordID)
            #expect(try await secret("One", in: theirs, other.container.sharedCloudDatabase) == "secret of One")
        }
    }

    @Test func `B-SHN-01 a member who opens other links keeps the proof of the own one`() async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let share = CKShare(rootRecord: folder)
            let slots = [CKShare.Participant.oneTimeURLParticipant(), .oneTimeURLParticipant()]
            for slot in slots { share.addParticipant(slot) }
            let saved = try await home.save(share, with: folder)
            let links = slots.map { saved.oneTimeURL(for: $0.participantID) } + [saved.url]
            for link in links { try await home.accept(link, on: home.ben) }
            let other = try await home.device(of: "ben")
            _ = try await home.ada.privateCloudDatabase.record(for: saved.recordID)
            let theirs = try await home.shared(zone)
            #expect(try await secret("One", in: theirs, other.container.sharedCloudDatabase) == "secret of One")
            // The other link is still for somebody else.
            try await home.accept(links[1], on: home.cat)
            #expect(try await secret("One", in: theirs, home.cat.sharedCloudDatabase) == "secret of One")
        }
    }
}
