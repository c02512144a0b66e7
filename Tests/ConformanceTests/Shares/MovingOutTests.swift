import CloudKitModel
import CloudKitServer
import Foundation
import Testing

@testable import CloudKit
@testable import CloudKitClient

/// Records that leave a share's tree: members keep what they could read, and open nothing that is written from then on.
@Suite(.timeLimit(.minutes(20))) struct MovingOutTests {
    enum Mover: CaseIterable {
        /// A device moves the record, and another save writes.
        case device
        /// One save moves the record and writes.
        case deviceAtOnce
    }

    private func note(_ name: String, in zone: CKRecordZone.ID, below parent: String) -> CKRecord {
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        note.encryptedValues["secret"] = "secret of \(name)"
        note.setParent(CKRecord.ID(recordName: parent, zoneID: zone))
        return note
    }

    private func moveOut(
        _ name: String, in zone: CKRecordZone.ID, _ mover: Mover, _ home: SharingHousehold
    ) async throws {
        let ada = home.ada.privateCloudDatabase
        let record = try await ada.record(for: CKRecord.ID(recordName: name, zoneID: zone))
        record.parent = nil
        if mover == .deviceAtOnce { record.encryptedValues["secret"] = "new One" }
        try await ada.save(record)
    }

    private func epoch(of zone: CKRecordZone.ID, _ home: SharingHousehold) async throws -> UInt32 {
        try await home.ada.privateCloudDatabase.requests().newestKeys(of: zone.model).epoch
    }

    @Test(arguments: Mover.allCases)
    func `B-TM-05 records moved out of a tree are sealed under keys that the tree's participants do not have`(
        _ mover: Mover
    ) async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let ada = home.ada.privateCloudDatabase
            try await ada.save(note("Below", in: zone, below: "One"))
            let share = try await home.share(folder, with: ["ben"])
            try await home.accept(share.url, on: home.ben)
            let theirs = try await home.shared(zone)
            let ben = home.ben.sharedCloudDatabase
            for name in ["One", "Two", "Below"] {
                #expect(try await secret(name, in: theirs, ben) == "secret of \(name)")
            }
            let before = try await ben.requests().looked(at: ["One", "Two", "Below"], in: theirs.model)
            var spy = try await Spy(home.ben, zone: theirs)
            spy.take(before)
            #expect(spy.opened(before).count == 3)

            try await moveOut("One", in: zone, mover, home)
            #expect(try await epoch(of: zone, home) == 1)
            let gone = await #expect(throws: CKError.self) { try await secret("Below", in: theirs, ben) }
            #expect(gone?.code == .unknownItem)
            if mover != .deviceAtOnce { try await write("new One", to: "One", in: zone, ada) }
            try await write("new Below", to: "Below", in: zone, ada)
            try await ada.save(note("New", in: zone, below: "One"))
            try await write("new Two", to: "Two", in: zone, ada)
            // A hostile server shows Ben everything that it has.
            let names = ["One", "Below", "New", "Two"]
            let raw = try await ada.requests().looked(at: names, in: zone.model)
            #expect(raw.count == names.count)
            spy.take(try await ben.requests().looked(at: ["Folder", share.recordID.recordName], in: theirs.model))
            spy.take(raw)
            #expect(spy.opened(raw) == ["Two"])
            // Its owner opens everything, on any device, and participants the records in the tree.
            let again = try await home.device(of: "ada")
            let adas = again.container.privateCloudDatabase
            for name in ["One", "Below"] { #expect(try await secret(name, in: zone, adas) == "new \(name)") }
            #expect(try await secret("New", in: zone, adas) == "secret of New")
            #expect(try await secret("Two", in: theirs, ben) == "new Two")
            // Moved back, it opens for members again.
            let back = try await ada.record(for: CKRecord.ID(recordName: "One", zoneID: zone))
            back.setParent(CKRecord.ID(recordName: "Folder", zoneID: zone))
            try await ada.save(back)
            #expect(try await secret("One", in: theirs, ben) == "new One")
            #expect(try await secret("Below", in: theirs, ben) == "new Below")
        }
    }

    @Test func `B-ENC-07 a client without keys cannot move a record with sealed values`() async throws {
        try await SharingHousehold.run { home in
            let (zone, _, _) = try await home.makeFolder()
            var change = RecordChange(recordName: "One", recordType: "Note")
            change.parent = .remove
            let outcomes = try await ModifyRecords(home.cloud.cloud).run(
                ModifyRecordsRequest(
                    operations: [.init(.forceUpdate, change)], zoneID: ZoneID(zoneName: zone.zoneName)),
                in: DatabaseAddress(
                    container: ContainerID(home.cloud.container), environment: .development, scope: .private),
                by: Caller(user: UserID(try await home.ada.userRecordID().recordName), surface: .web))
            guard case .failed(_, let failure)? = outcomes.first else {
                Issue.record("it was moved")
                return
            }
            #expect(failure == .unstated)
        }
    }

    @Test func `B-TM-05 a record that is not written in the present epoch leaves without another one`() async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            try await home.share(folder, with: ["ben"])
            try await moveOut("One", in: zone, .device, home)
            #expect(try await epoch(of: zone, home) == 1)
            try await moveOut("Two", in: zone, .device, home)
            try await write("new Two", to: "Two", in: zone, home.ada.privateCloudDatabase)
            #expect(try await epoch(of: zone, home) == 1)
        }
    }

    @Test func `B-TM-05 a root kept from before its share ended is sealed for none of its participants, also by force`()
        async throws
    {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let ada = home.ada.privateCloudDatabase
            try await write("while shared", to: "Folder", in: zone, ada)
            let share = try await home.share(try await ada.record(for: folder.recordID), with: ["ben"])
            try await home.accept(share.url, on: home.ben)
            let theirs = try await home.shared(zone)
            let kept = try await ada.record(for: folder.recordID)
            let ben = home.ben.sharedCloudDatabase
            #expect(try await secret("Folder", in: theirs, ben) == "while shared")
            var spy = try await Spy(home.ben, zone: theirs)
            let before = try await ben.requests().looked(at: ["Folder", share.recordID.recordName], in: theirs.model)
            spy.take(before)
            #expect(spy.opened(before) == ["Folder"])

            let other = try await home.device(of: "ada")
            try await other.container.privateCloudDatabase.deleteRecord(withID: share.recordID)
            kept.encryptedValues["secret"] = "afterwards"
            let saved = try await ada.modifyRecords(saving: [kept], deleting: [], savePolicy: .allKeys)
            _ = try saved.saveResults[folder.recordID]?.get()
            // A hostile server shows Ben everything that it has.
            let raw = try await ada.requests().looked(at: ["Folder"], in: zone.model)
            #expect(raw.first?.isSealed == true)
            spy.take(raw)
            #expect(spy.opened(raw) == [])
            #expect(try await secret("Folder", in: zone, ada) == "afterwards")
        }
    }
}
