import CloudKitServer
import Foundation
import Testing

@testable import CloudKit
@testable import CloudKitClient

/// Participants whose account keys were reset: values were sealed to an identity that they no longer have.
@Suite(.timeLimit(.minutes(20))) struct ReplacedIdentityTests {
    private func note(_ name: String, in zone: CKRecordZone.ID) -> CKRecord {
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        note.encryptedValues["secret"] = "secret of \(name)"
        note.setParent(CKRecord.ID(recordName: "Folder", zoneID: zone))
        return note
    }

    @Test(arguments: [false, true])
    func
        `B-TM-06, B-TM-12 who reset their keys gets the share's from a host who trusts the new ones, and their old keys open nothing new`(
            fromAdministrator: Bool
        ) async throws
    {
        try await SharingHousehold.run { home in
            let (zone, folder, _) = try await home.makeFolder()
            let dora = try await home.newcomer("dora")
            let share = CKShare(rootRecord: folder)
            try await home.invite(["cat"], to: share)
            share.participants.last?.role = .administrator
            try await home.invite(["dora"], to: share)
            let saved = try await home.save(share, with: folder)
            try await home.accept(saved.url, on: home.cat)
            try await home.accept(saved.url, on: dora.container)
            let theirs = try await home.shared(zone)
            let doras = dora.container.sharedCloudDatabase
            #expect(try await secret("One", in: theirs, doras) == "secret of One")
            var spy = try await Spy(dora.container, zone: theirs)

            _ = try await dora.reset("correct horse")
            try await FinishKeyResets(home.cloud.cloud).run()
            func expectWaiting() async throws {
                let error = await #expect(throws: CKError.self) { try await secret("One", in: theirs, doras) }
                #expect(error?.localizedDescription.contains("waiting for key") == true)
            }
            try await expectWaiting()
            // A device that knew Dora by her old identity hands nothing to another one.
            let ada = home.ada.privateCloudDatabase
            if !fromAdministrator {
                _ = try await ada.record(for: saved.recordID)
                try await expectWaiting()
            }
            let hosts = try await home.device(of: fromAdministrator ? "cat" : "ada")
            let host = hosts.container
            // The statement names Dora's old identity, also to a device that never met her.
            let doraNow = try await hosts.signIn.identity(
                ofAddress: "dora@example.com", container: home.cloud.container)
            try hosts.signIn.trust(doraNow)
            let theirShare = CKRecord.ID(recordName: saved.recordID.recordName, zoneID: theirs)
            if fromAdministrator {
                _ = try await host.sharedCloudDatabase.record(for: theirShare)
            } else {
                _ = try await host.privateCloudDatabase.record(for: saved.recordID)
            }
            #expect(try await secret("One", in: theirs, doras) == "secret of One")
            try await ada.save(note("After", in: zone))
            #expect(try await secret("After", in: theirs, home.cat.sharedCloudDatabase) == "secret of After")

            // Values written from then on do not open with Dora's earlier keys.
            let raw = try await home.cat.sharedCloudDatabase.requests().looked(
                at: ["One", "After", theirShare.recordName], in: theirs.model)
            #expect(raw.count == 3)
            spy.take(raw)
            #expect(spy.opened(raw) == ["One"])
        }
    }
}
