import CloudKit
import Testing

/// The first calls of an app in a container that has nothing yet.
@Suite(.timeLimit(.minutes(20))) struct FirstRunTests {
    @Test func `B-ZN-07 deleting a zone that was never made succeeds in every form`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let zoneID = CKRecordZone.ID(zoneName: "Contacts")
            for _ in 0..<2 { #expect(try await database.deleteRecordZone(withID: zoneID) == zoneID) }
            let deleted: CKRecordZone.ID? = try await withCheckedThrowingContinuation { continuation in
                database.delete(withRecordZoneID: zoneID) { id, error in
                    if let error { continuation.resume(throwing: error) } else { continuation.resume(returning: id) }
                }
            }
            #expect(deleted == zoneID)
            let result: Result<Void, any Error> = await withCheckedContinuation { continuation in
                let operation = CKModifyRecordZonesOperation(recordZoneIDsToDelete: [zoneID])
                operation.modifyRecordZonesResultBlock = { continuation.resume(returning: $0) }
                database.add(operation)
            }
            #expect(throws: Never.self) { try result.get() }
        }
    }

    @Test func `B-ZN-07, B-ZN-08 deleting a zone a second time changes nothing`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let zone = try await database.save(CKRecordZone(zoneName: "Contacts"))
            let token = try await database.databaseChanges(since: nil).changeToken
            try await database.deleteRecordZone(withID: zone.zoneID)
            let before = try await database.databaseChanges(since: token)
            #expect(before.deletions.map(\.zoneID) == [zone.zoneID])
            try await database.deleteRecordZone(withID: zone.zoneID)
            let after = try await database.databaseChanges(since: before.changeToken)
            #expect(after.deletions.isEmpty && after.modifications.isEmpty)
        }
    }

    @Test func `B-BAT-05 an app that shares a record after a conflict learns that nothing was saved`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let zone = try await database.save(CKRecordZone(zoneName: "Contacts"))
            let id = CKRecord.ID(recordName: "Ben", zoneID: zone.zoneID)
            let stale = try await database.save(CKRecord(recordType: "Contact", recordID: id))
            let current = try await database.record(for: id)
            current["name"] = "Ben"
            try await database.save(current)

            stale["name"] = "Benjamin"
            let share = CKShare(rootRecord: stale)
            let error = await #expect(throws: CKError.self) {
                _ = try await database.modifyRecords(saving: [stale, share], deleting: [])
            }
            #expect(error?.code == .partialFailure)
            let errors = error?.partialErrorsByItemID ?? [:]
            #expect((errors[id] as? CKError)?.code == .serverRecordChanged)
            #expect((errors[share.recordID] as? CKError)?.code == .batchRequestFailed)
            #expect(share.url == nil)
        }
    }

    @Test func `modifyRecords without one of its lists`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let record = CKRecord(recordType: "Note")
            let saved = try await database.modifyRecords(saving: [record]).saveResults
            #expect(throws: Never.self) { try saved[record.recordID]?.get() }
            let deleted = try await database.modifyRecords(deleting: [record.recordID]).deleteResults
            #expect(throws: Never.self) { try deleted[record.recordID]?.get() }
        }
    }
}
