import Foundation
import Testing

@testable import CloudKit

/// Zones with one key for all of their records, from the app's side.
@Suite(.timeLimit(.minutes(20))) struct EncryptionScopeTests {
    @Test func `B-ZN-16 a zone's encryption scope is the same on every device, and never changes`() async throws {
        try await ThrowawayCloud.run { cloud in
            let user = try await cloud.addUser("ada")
            let a = try await cloud.device(of: user, named: "a").privateCloudDatabase
            let b = try await cloud.device(of: user, named: "b").privateCloudDatabase
            let zone = CKRecordZone(zoneName: "Z")
            zone.encryptionScope = .perZone
            let saved = try await a.save(zone)
            #expect(saved.encryptionScope == .perZone && !saved.capabilities.contains(.sharing))
            let fetched = try await b.recordZone(for: zone.zoneID)
            #expect(fetched.encryptionScope == .perZone)
            #expect(try await b.save(fetched).encryptionScope == .perZone)
            await expect(.serverRejectedRequest) { try await b.save(CKRecordZone(zoneName: "Z")) }
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "R", zoneID: zone.zoneID))
            record.encryptedValues["secret"] = "diary"
            try await a.save(record)
            #expect(try await b.record(for: record.recordID).encryptedValues["secret"] == "diary")
        }
    }

    @Test func `B-ZN-16 a zone with one key is shared as a whole, and its trees are not`() async throws {
        try await SharingHousehold.run { home in
            let zone = CKRecordZone(zoneName: "Z")
            zone.encryptionScope = .perZone
            let database = home.ada.privateCloudDatabase
            try await database.save(zone)
            let root = CKRecord(recordType: "Folder", recordID: CKRecord.ID(recordName: "Root", zoneID: zone.zoneID))
            root.encryptedValues["secret"] = "diary"
            let error = await #expect(throws: CKError.self) {
                try await database.modifyRecords(saving: [root, CKShare(rootRecord: root)], deleting: [])
            }
            let errors = error?.partialErrorsByItemID ?? [:]
            #expect(errors.values.contains { ($0 as? CKError)?.code == .serverRejectedRequest })
            try await database.save(root)
            let share = CKShare(recordZoneID: zone.zoneID)
            share.publicPermission = .readOnly
            let shared = try asShare(try await database.save(share))
            _ = try await home.accept(shared.url, on: home.ben)
            let place = try await home.shared(zone.zoneID)
            #expect(try await secret("Root", in: place, home.ben.sharedCloudDatabase) == "diary")
            let seen = try await home.ben.sharedCloudDatabase.recordZone(for: place)
            #expect(seen.encryptionScope == .perZone)
        }
    }
}
