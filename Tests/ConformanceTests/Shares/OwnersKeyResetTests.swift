import CloudKitModel
import CloudKitServer
import Foundation
import Testing

@testable import CloudKit

/// Owners whose account keys were reset while nothing was sealed in their container: their zones stay, and so do their shares.
@Suite struct OwnersKeyResetTests {
    private func note(_ name: String, in zone: CKRecordZone.ID, secret: String? = nil) -> CKRecord {
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        note["title"] = name
        note.encryptedValues["secret"] = secret
        note.setParent(CKRecord.ID(recordName: "Folder", zoneID: zone))
        return note
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
            // The records are there, and nobody seals anything under keys that the owner has lost.
            #expect(try await ben.record(for: CKRecord.ID(recordName: "One", zoneID: theirs))["title"] == "One")
            let early = await #expect(throws: CKError.self) {
                try await ben.save(note("Early", in: theirs, secret: "x"))
            }
            #expect(early?.localizedDescription.contains("waiting for key") == true)

            // The owner's next look at the share gives it keys; a device of the member's that knows her by the old identity asks.
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
            // What was there before takes secrets as anything else does, whoever made its key.
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
