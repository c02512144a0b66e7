import CloudKitModel
import CloudKitServer
import Foundation
import Testing

@testable import CloudKit

/// Owners whose account keys were reset while nothing was sealed in their container: their zones stay, and so do their shares.
@Suite(.timeLimit(.minutes(20))) struct OwnersKeyResetTests {
    private func note(_ name: String, in zone: CKRecordZone.ID, secret: String? = nil) -> CKRecord {
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        note["title"] = name
        note.encryptedValues["secret"] = secret
        note.setParent(CKRecord.ID(recordName: "Folder", zoneID: zone))
        return note
    }

    /// The owner of the app that has kept a record from before the reset.
    enum Keeper: CaseIterable {
        case owner, maker, member
    }

    @Test(arguments: Keeper.allCases, [false, true])
    func `B-TM-12 a record from before its owner's keys were reset can be moved, also if another user made its key`(
        _ keeper: Keeper, isWritten: Bool
    ) async throws {
        try await SharingHousehold.run { home in
            let (ada, ben, cat) = (
                home.ada.privateCloudDatabase, home.ben.sharedCloudDatabase, home.cat.sharedCloudDatabase
            )
            let zone = try await ada.save(CKRecordZone(zoneName: "Notes")).zoneID
            let folder = CKRecord(recordType: "Folder", recordID: CKRecord.ID(recordName: "Folder", zoneID: zone))
            _ = try await ada.modifyRecords(saving: [folder, note("Drawer", in: zone)], deleting: [])
            let share = try await home.share(folder, with: ["ben", "cat"])
            for member in [home.ben, home.cat] { try await home.accept(share.url, on: member) }
            let theirs = try await home.shared(zone)
            for name in ["Ben's", "Gone"] { try await ben.save(note(name, in: theirs)) }
            let (database, place) =
                switch keeper {
                case .owner: (ada, zone)
                case .maker: (ben, theirs)
                case .member: (cat, theirs)
                }
            let kept = try await database.record(for: CKRecord.ID(recordName: "Ben's", zoneID: place))
            let gone = try await database.record(for: CKRecord.ID(recordName: "Gone", zoneID: place))

            _ = try await home.signedIn.ada.reset(SharingHousehold.password)
            #expect(try await ada.record(for: share.recordID) is CKShare)
            #expect(try home.confirmParticipants(on: home.signedIn.ada) == 2)
            #expect(try await ada.record(for: share.recordID) is CKShare)
            for device in [home.signedIn.ben, home.signedIn.cat] {
                let identity = try await device.signIn.identity(
                    ofAddress: "ada@example.com", container: home.cloud.container)
                try device.signIn.trust(identity)
            }
            kept["title"] = "moved"
            if isWritten { kept.encryptedValues["secret"] = "kept" }
            kept.setParent(CKRecord.ID(recordName: "Drawer", zoneID: place))
            try await database.save(kept)
            for (reader, zone) in [(ada, zone), (ben, theirs), (cat, theirs)] {
                let moved = try await reader.record(for: CKRecord.ID(recordName: "Ben's", zoneID: zone))
                #expect(moved.parent?.recordID.recordName == "Drawer")
                #expect(moved["title"] == "moved")
                #expect(moved.encryptedValues["secret"] == (isWritten ? "kept" : nil))
            }
            try await ada.deleteRecord(withID: CKRecord.ID(recordName: "Gone", zoneID: zone))
            gone.setParent(kept)
            let refusal = await #expect(throws: CKError.self) { _ = try await database.save(gone) }
            #expect(refusal?.code == .unknownItem)
            try await write("later", to: "Ben's", in: zone, ada)
            for member in [ben, cat] { #expect(try await secret("Ben's", in: theirs, member) == "later") }
        }
    }

    @Test func `B-CHG-15 a page of changes waits until the user has confirmed the owner's new keys`() async throws {
        try await SharingHousehold.run { home in
            let (ada, ben) = (home.ada.privateCloudDatabase, home.ben.sharedCloudDatabase)
            let zone = try await ada.save(CKRecordZone(zoneName: "Notes")).zoneID
            let folder = CKRecord(recordType: "Folder", recordID: CKRecord.ID(recordName: "Folder", zoneID: zone))
            _ = try await ada.modifyRecords(saving: [folder, note("One", in: zone)], deleting: [])
            let share = try await home.share(folder, with: ["ben"])
            try await home.accept(share.url, on: home.ben)
            let theirs = try await home.shared(zone)
            let token = try await ben.recordZoneChanges(inZoneWith: theirs, since: nil).changeToken
            _ = try await home.signedIn.ada.reset(SharingHousehold.password)
            #expect(try await ada.record(for: share.recordID) is CKShare)
            #expect(try home.confirmParticipants(on: home.signedIn.ada) == 1)
            #expect(try await ada.record(for: share.recordID) is CKShare)
            try await ada.save(note("Ada's", in: zone, secret: "secret of Ada's"))
            for _ in 0..<2 {
                let error = await #expect(throws: CKError.self) {
                    try await ben.recordZoneChanges(inZoneWith: theirs, since: token)
                }
                #expect(error?.localizedDescription.contains("compare fingerprints") == true)
            }
            let bens = home.signedIn.ben.signIn
            try bens.trust(try await bens.identity(ofAddress: "ada@example.com", container: home.cloud.container))
            let page = try await ben.recordZoneChanges(inZoneWith: theirs, since: token)
            let id = CKRecord.ID(recordName: "Ada's", zoneID: theirs)
            let record = try page.modificationResultsByID[id]?.get().record
            #expect(record?.encryptedValues["secret"] == "secret of Ada's")
        }
    }

    @Test(arguments: [false, true])
    func `B-ZN-12, B-TM-12 a share in which nothing was sealed lives on with fresh keys after its owner's were reset`(
        wholeZone: Bool
    ) async throws {
        try await SharingHousehold.run { home in
            let (ada, ben) = (home.ada.privateCloudDatabase, home.ben.sharedCloudDatabase)
            let zone = try await ada.save(CKRecordZone(zoneName: "Notes")).zoneID
            let folder = CKRecord(recordType: "Folder", recordID: CKRecord.ID(recordName: "Folder", zoneID: zone))
            _ = try await ada.modifyRecords(saving: [folder, note("One", in: zone)], deleting: [])
            let share = wholeZone ? CKShare(recordZoneID: zone) : CKShare(rootRecord: folder)
            try await home.invite(["ben"], to: share)
            let saved = wholeZone ? try asShare(try await ada.save(share)) : try await home.save(share, with: folder)
            try await home.accept(saved.url, on: home.ben)
            let theirs = try await home.shared(zone)
            // A record whose key only its member's device made, wrapped for the share.
            try await ben.save(note("Ben's", in: theirs))

            _ = try await home.signedIn.ada.reset(SharingHousehold.password)
            // The records exist, and no device seals anything under keys that the owner has lost.
            #expect(try await ben.record(for: CKRecord.ID(recordName: "One", zoneID: theirs))["title"] == "One")
            let early = await #expect(throws: CKError.self) {
                try await ben.save(note("Early", in: theirs, secret: "x"))
            }
            #expect(early?.localizedDescription.contains("waiting for key") == true)

            // The owner confirms the participants, which gives the share keys; a device of the member's that knows her by the old
            // identity asks.
            #expect(try await ada.record(for: saved.recordID) is CKShare)
            #expect(try home.confirmParticipants(on: home.signedIn.ada) == 1)
            #expect(try await ada.record(for: saved.recordID) is CKShare)
            try await ada.save(note("Ada's", in: zone, secret: "secret of Ada's"))
            let refusal = await #expect(throws: CKError.self) { try await secret("Ada's", in: theirs, ben) }
            #expect(refusal?.code == .internalError)
            let bens = home.signedIn.ben.signIn
            try bens.trust(try await bens.identity(ofAddress: "ada@example.com", container: home.cloud.container))
            let again = try await home.device(of: "ben")
            for database in [ben, again.container.sharedCloudDatabase] {
                #expect(try await secret("Ada's", in: theirs, database) == "secret of Ada's")
                try await database.save(note("Late", in: theirs, secret: "secret of Late"))
                #expect(try await secret("Late", in: zone, ada) == "secret of Late")
                try await ada.deleteRecord(withID: CKRecord.ID(recordName: "Late", zoneID: zone))
            }
            // A record from before the reset takes secrets as any other does, also if another participant made its key.
            try await write("Ben was here", to: "One", in: theirs, ben)
            try await write("Ada was here", to: "Ben's", in: zone, ada)
            let adas = try await home.device(of: "ada")
            for database in [ada, adas.container.privateCloudDatabase] {
                #expect(try await secret("One", in: zone, database) == "Ben was here")
            }
            #expect(try await secret("Ben's", in: theirs, again.container.sharedCloudDatabase) == "Ada was here")
        }
    }
}
