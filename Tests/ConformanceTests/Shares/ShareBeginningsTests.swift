import CloudKitEncryption
import CloudKitModel
import CloudKitServer
import Foundation
import Synchronization
import Testing

@testable import CloudKit
@testable import CloudKitClient

/// Shares that begin on clients without keys, and shares that end.
@Suite(.timeLimit(.minutes(20))) struct ShareBeginningsTests {
    private func note(_ name: String, in zone: CKRecordZone.ID, below parent: String = "Folder") -> CKRecord {
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        note.encryptedValues["secret"] = "secret of \(name)"
        note.setParent(CKRecord.ID(recordName: parent, zoneID: zone))
        return note
    }

    /// Sends a request as a web client of Ada's.
    private func modifyAsWeb(
        _ operations: [RecordOperation], in zone: CKRecordZone.ID, _ home: SharingHousehold
    ) async throws -> [RecordOutcome] {
        let ada = UserID(try await home.ada.userRecordID().recordName)
        return try await ModifyRecords(home.cloud.cloud).run(
            ModifyRecordsRequest(operations: operations, zoneID: ZoneID(zoneName: zone.zoneName)),
            in: DatabaseAddress(
                container: ContainerID(home.cloud.container), environment: .development, scope: .private),
            by: Caller(user: ada, surface: .web))
    }

    @Test(arguments: [false, true])
    func `B-SHR-01, B-SHR-06 a share that a client without keys began gets keys once a device of its owner confirms it`(
        wholeZone: Bool
    ) async throws {
        try await SharingHousehold.run { home in
            let (zone, _, _) = try await home.makeFolder()
            let ben = UserID(try await home.ben.userRecordID().recordName)
            let change = ShareChange(
                root: wholeZone ? nil : .init(recordName: "Folder"),
                participants: [ParticipantChange(permission: .readWrite, user: ben)])
            let name = wholeZone ? Share.zoneWideName : "WebShare"
            let outcomes = try await modifyAsWeb(
                [.init(.create, RecordChange(recordName: name, recordType: "cloudkit.share", share: change))],
                in: zone, home)
            guard case .record(let share)? = outcomes.first, let guid = share.shortGUID else {
                Issue.record("not shared: \(outcomes)")
                return
            }
            let url = try #require(URL(string: home.cloud.endpoint + "/share/" + guid))
            try await home.accept(url, on: home.ben)
            let theirs = try await home.shared(zone)
            let bens = home.ben.sharedCloudDatabase
            #expect(try await bens.record(for: CKRecord.ID(recordName: "One", zoneID: theirs), plain: "title") == "One")
            let waiting = await #expect(throws: CKError.self) { try await secret("One", in: theirs, bens) }
            #expect(waiting?.localizedDescription.contains("waiting for key") == true)
            // A device of Ada's follows her zone, and hands out nothing before she confirms who takes part.
            let again = try await home.device(of: "ada")
            _ = try await again.container.privateCloudDatabase.recordZoneChanges(inZoneWith: zone, since: nil)
            let unconfirmed = await #expect(throws: CKError.self) { try await secret("One", in: theirs, bens) }
            #expect(unconfirmed?.localizedDescription.contains("waiting for key") == true)
            #expect(try home.confirmParticipants(on: again) == 1)
            _ = try await again.container.privateCloudDatabase.recordZoneChanges(inZoneWith: zone, since: nil)
            for name in ["One", "Two"] { #expect(try await secret(name, in: theirs, bens) == "secret of \(name)") }
            #expect(try await secret("Folder", in: theirs, bens) == "folder secret")
            let added = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "Ben's", zoneID: theirs))
            added.encryptedValues["secret"] = "from Ben"
            added.setParent(CKRecord.ID(recordName: "Folder", zoneID: theirs))
            try await bens.save(added)
            #expect(try await secret("Ben's", in: zone, home.ada.privateCloudDatabase) == "from Ben")
        }
    }

    @Test func `B-SHR-01 a tree without anything sealed gets keys, too, once its link is confirmed`() async throws {
        try await SharingHousehold.run { home in
            let ada = home.ada.privateCloudDatabase
            let zone = try await ada.save(CKRecordZone(zoneName: "Plain")).zoneID
            func plain(_ name: String, below parent: String? = nil) -> RecordOperation {
                var change = RecordChange(recordName: name, recordType: "Note")
                if let parent { change.parent = .set(recordName: parent) }
                return RecordOperation(.create, change)
            }
            let change = ShareChange(root: .init(recordName: "Top"), publicPermission: .readWrite)
            let outcomes = try await modifyAsWeb(
                [
                    plain("Top"), plain("Middle", below: "Top"),
                    .init(.create, RecordChange(recordName: "S", recordType: "cloudkit.share", share: change)),
                ], in: zone, home)
            #expect(outcomes.count == 3)
            _ = try await ada.record(for: CKRecord.ID(recordName: "S", zoneID: zone))
            #expect(try home.confirmParticipants(on: home.signedIn.ada) == 1)
            let sealed = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "Low", zoneID: zone))
            sealed.encryptedValues["secret"] = "sealed"
            sealed.setParent(CKRecord.ID(recordName: "Middle", zoneID: zone))
            try await ada.save(sealed)
            let share = try asShare(try await ada.record(for: CKRecord.ID(recordName: "S", zoneID: zone)))
            #expect(share.url?.fragment?.hasPrefix("k=") == true)
            try await home.accept(share.url, on: home.ben)
            let theirs = try await home.shared(zone)
            #expect(try await secret("Low", in: theirs, home.ben.sharedCloudDatabase) == "sealed")
        }
    }

    @Test(arguments: [false, true])
    func `B-ACP-08, B-TM-05 after the end of a share no other user opens new values, until it is shared again`(
        wholeZone: Bool
    ) async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let ada = home.ada.privateCloudDatabase
            func begin() async throws -> CKShare {
                let root = try await ada.record(for: folder.recordID)
                let share = wholeZone ? CKShare(recordZoneID: zone) : CKShare(rootRecord: root)
                try await home.invite(["ben", "cat"], to: share)
                let saved =
                    wholeZone
                    ? try asShare(try await ada.save(share)) : try await home.save(share, with: root)
                try await home.accept(saved.url, on: home.ben)
                try await home.accept(saved.url, on: home.cat)
                return saved
            }
            let first = try await begin()
            let theirs = try await home.shared(zone)
            // Cat is removed, so that the share is in a later epoch when it ends.
            #expect(try await secret("One", in: theirs, home.ben.sharedCloudDatabase) == "secret of One")
            try await home.remove("cat", from: first.recordID, by: home.ada)
            let id = CKRecord.ID(recordName: first.recordID.recordName, zoneID: theirs)
            _ = try await home.ben.sharedCloudDatabase.record(for: id)
            try await ada.save(note("Late", in: zone))
            #expect(try await secret("Late", in: theirs, home.ben.sharedCloudDatabase) == "secret of Late")
            var spy = try await Spy(home.ben, zone: theirs)
            try await ada.deleteRecord(withID: first.recordID)
            let one = try await ada.record(for: CKRecord.ID(recordName: "One", zoneID: zone))
            one.encryptedValues["secret"] = "mine alone"
            try await ada.save(one)
            try await ada.save(note("New", in: zone))
            let raw = try await ada.requests().looked(at: ["One", "Two", "Late", "New"], in: zone.model)
            #expect(raw.count == 4)
            spy.take(raw)
            #expect(spy.opened(raw) == ["Two", "Late"])
            // Shared again, under the same zone name, it opens for the same users.
            _ = try await begin()
            let again = try await home.device(of: "ben")
            for container in [home.ben, home.cat, again.container] {
                let database = container.sharedCloudDatabase
                #expect(try await secret("One", in: theirs, database) == "mine alone")
                for name in ["Two", "Late", "New"] {
                    #expect(try await secret(name, in: theirs, database) == "secret of \(name)")
                }
            }
        }
    }

    @Test(arguments: [false, true])
    func `B-SHR-01 values sealed in later epochs than their ancestors open once the tree is shared`(
        byWebClient: Bool
    ) async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let ada = home.ada.privateCloudDatabase
            // Folder and One are of the first epoch, the records below of later ones.
            for name in ["First", "Second"] {
                try await ada.requests().raiseKeyEpoch(of: zone.model)
                try await ada.save(note(name, in: zone, below: "One"))
                try await ada.save(note(name + " below", in: zone, below: name))
            }
            try await ada.requests().raiseKeyEpoch(of: zone.model)
            let plain = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "Plain", zoneID: zone))
            plain.setParent(CKRecord.ID(recordName: "Two", zoneID: zone))
            try await ada.save(plain)
            try await ada.save(note("Deep", in: zone, below: "Plain"))
            let one = try await ada.record(for: CKRecord.ID(recordName: "One", zoneID: zone))
            let url: URL?
            if byWebClient {
                let change = ShareChange(root: .init(recordName: "Folder"), publicPermission: .readWrite)
                _ = try await modifyAsWeb(
                    [.init(.create, RecordChange(recordName: "S", recordType: "cloudkit.share", share: change))],
                    in: zone, home)
                let id = CKRecord.ID(recordName: "S", zoneID: zone)
                _ = try await ada.record(for: id)
                #expect(try home.confirmParticipants(on: home.signedIn.ada) == 1)
                url = try asShare(try await ada.record(for: id)).url
            } else {
                let root = try await ada.record(for: folder.recordID)
                url = try await home.share(root, with: [], publicPermission: .readWrite).url
            }
            try await home.accept(url, on: home.ben)
            let theirs = try await home.shared(zone)
            for name in ["One", "First", "First below", "Second", "Second below", "Two", "Deep"] {
                #expect(try await secret(name, in: theirs, home.ben.sharedCloudDatabase) == "secret of \(name)")
            }
            // A record that had to be sealed again has another version; its fields are unchanged.
            let now = try await ada.record(for: one.recordID)
            #expect(now["title"] as? String == "One")
            #expect(now.recordChangeTag != one.recordChangeTag)
        }
    }

    @Test func `B-SHR-01 a tree is shared although a token expires while the zone is read`() async throws {
        try await ThrowawayCloud.run { cloud in
            let network = InterruptedTransport()
            let device = try await cloud.device(
                of: try await cloud.addUser("ada"), over: network, clientEnvironment: .system)
            let database = device.privateCloudDatabase
            let zone = try await database.save(CKRecordZone(zoneName: "Notes")).zoneID
            let root = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "Folder", zoneID: zone))
            try await database.save(root)
            try await database.requests().raiseKeyEpoch(of: zone.model)
            // More than a page.
            for start in [0, 300] {
                _ = try await database.modifyRecords(
                    saving: (start..<start + 300).map {
                        CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "\($0)", zoneID: zone))
                    }, deleting: [])
            }
            let ada = UserID(try await device.userRecordID().recordName)
            let isExpired = Mutex(false)
            network.interrupt("changes/zone", .after) {
                let expiry: Void? = try? await ExpireTokens(cloud.cloud).run(
                    ofZone: "Notes", of: ada, in: ContainerID(cloud.container), .development)
                isExpired.withLock { $0 = expiry != nil }
            }
            let shared = try await database.record(for: root.recordID)
            let results = try await database.modifyRecords(
                saving: [shared, CKShare(rootRecord: shared)], deleting: []
            ).saveResults
            for result in results.values { _ = try result.get() }
            #expect(isExpired.withLock { $0 })
        }
    }

    @Test func `B-SHR-01 records that a participant added to one share open in a later one`() async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let ada = home.ada.privateCloudDatabase
            let first = try await home.share(folder, with: ["ben", "cat"])
            try await home.accept(first.url, on: home.ben)
            let theirs = try await home.shared(zone)
            try await home.remove("cat", from: first.recordID, by: home.ada)
            try await home.ben.sharedCloudDatabase.save(note("Ben's", in: theirs))
            try await ada.deleteRecord(withID: first.recordID)
            let again = try await home.share(try await ada.record(for: folder.recordID), with: ["cat"])
            try await home.accept(again.url, on: home.cat)
            #expect(try await secret("Ben's", in: theirs, home.cat.sharedCloudDatabase) == "secret of Ben's")
        }
    }

    @Test func `B-SHR-01 sharing a tree wraps one key, however large it is`() async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let ada = home.ada.privateCloudDatabase
            let names = (0..<120).map { "n\($0)" }
            let notes = names.enumerated().map { number, name in
                let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
                note.encryptedValues["secret"] = name
                note.setParent(CKRecord.ID(recordName: number < 10 ? "Folder" : "n\(number / 10)", zoneID: zone))
                return note
            }
            for result in try await ada.modifyRecords(saving: notes, deleting: []).saveResults.values {
                _ = try result.get()
            }
            func protections() async throws -> [String: Protection?] {
                let records = try await ada.requests().looked(at: names + ["One", "Two"], in: zone.model)
                return Dictionary(uniqueKeysWithValues: records.map { ($0.id.recordName, $0.protection) })
            }
            func wraps() async throws -> [KeyWrap] {
                let root = try await ada.requests().looked(at: ["Folder"], in: zone.model).first
                return try root?.protection.map { try RecordProtection($0).wraps } ?? []
            }
            let before = try await protections()
            #expect(try await wraps().isEmpty)
            let share = try await home.share(try await ada.record(for: folder.recordID), with: ["ben", "cat"])
            #expect(try await protections() == before)
            #expect(before.count == names.count + 2)
            #expect(try await wraps().count == 1)
            // One wrap a participant; the owner derives the key.
            let sharing = try await ada.requests().looked(at: [share.recordID.recordName], in: zone.model).first?
                .sharing
            #expect(sharing?.participants.filter { $0.keyEpoch != nil }.count == 2)
            try await home.accept(share.url, on: home.ben)
            let theirs = try await home.shared(zone)
            #expect(try await secret("n119", in: theirs, home.ben.sharedCloudDatabase) == "n119")
        }
    }
}

extension CKDatabase {
    /// A plain field of a record, without the rest.
    fileprivate func record(for id: CKRecord.ID, plain field: String) async throws -> String? {
        let found = try await records(for: [id], desiredKeys: [field])
        return try found[id]?.get()[field] as? String
    }
}
