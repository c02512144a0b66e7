import Foundation
import Testing

@testable import CloudKit

/// Administrators hand keys out as the owner does, without waiting for a device of the owner's.
@Suite struct AdministratorsTests {
    /// Ada's folder, shared with Ben, an administrator, with Cat, and with more.
    private func share(
        with more: [String], _ home: SharingHousehold
    ) async throws -> (zone: CKRecordZone.ID, theirs: CKRecordZone.ID, share: CKRecord.ID, url: URL?) {
        let (zone, folder, _) = try await home.makeFolder()
        let share = CKShare(rootRecord: folder)
        try await home.invite(["ben"], to: share)
        share.participants.last?.role = .administrator
        try await home.invite(["cat"] + more, to: share)
        let saved = try await home.save(share, with: folder)
        try await home.accept(saved.url, on: home.ben)
        try await home.accept(saved.url, on: home.cat)
        return (zone, try await home.shared(zone), saved.recordID, saved.url)
    }

    private func note(_ name: String, in zone: CKRecordZone.ID) -> CKRecord {
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        note.encryptedValues["secret"] = "secret of \(name)"
        note.setParent(CKRecord.ID(recordName: "Folder", zoneID: zone))
        return note
    }

    private func secret(_ name: String, in zone: CKRecordZone.ID, _ database: CKDatabase) async throws -> String? {
        let record = try await database.record(for: CKRecord.ID(recordName: name, zoneID: zone))
        return record.encryptedValues["secret"] as? String
    }

    @Test func `B-TM-06 an administrator's device hands the key to who waits for one`() async throws {
        try await SharingHousehold.run { home in
            let shared = try await share(with: ["dora"], home)
            let dora = try await home.newcomer("dora")
            try await home.accept(shared.url, on: dora.container)
            let database = dora.container.sharedCloudDatabase
            await #expect(throws: CKError.self) { try await secret("One", in: shared.theirs, database) }
            let id = CKRecord.ID(recordName: shared.share.recordName, zoneID: shared.theirs)
            // Another member looks: nothing happens. The administrator's next device does: the key is there.
            _ = try await home.cat.sharedCloudDatabase.record(for: id)
            await #expect(throws: CKError.self) { try await secret("One", in: shared.theirs, database) }
            let again = try await home.device(of: "ben")
            _ = try await again.container.sharedCloudDatabase.record(for: id)
            #expect(try await secret("One", in: shared.theirs, database) == "secret of One")
            try await database.save(note("Dora's", in: shared.theirs))
            #expect(
                try await secret("Dora's", in: shared.zone, home.ada.privateCloudDatabase) == "secret of Dora's")
        }
    }

    @Test func `B-PRT-07, B-TM-06 who becomes an administrator later gets the right to invite from the owner's device`()
        async throws
    {
        try await SharingHousehold.run { home in
            let shared = try await share(with: ["dora"], home)
            let id = CKRecord.ID(recordName: shared.share.recordName, zoneID: shared.theirs)
            // Cat's device has the key already when she is made an administrator.
            #expect(try await secret("One", in: shared.theirs, home.cat.sharedCloudDatabase) == "secret of One")
            let current = try asShare(try await home.ada.privateCloudDatabase.record(for: shared.share))
            let cat = try #require(
                current.participants.first { $0.userIdentity.lookupInfo?.emailAddress == "cat@example.com" })
            cat.role = .administrator
            try await home.ada.privateCloudDatabase.save(current)
            let dora = try await home.newcomer("dora")
            try await home.accept(shared.url, on: dora.container)
            let database = dora.container.sharedCloudDatabase
            await #expect(throws: CKError.self) { try await secret("One", in: shared.theirs, database) }
            _ = try await home.cat.sharedCloudDatabase.record(for: id)
            #expect(try await secret("One", in: shared.theirs, database) == "secret of One")
        }
    }
}
