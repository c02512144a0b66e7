import CloudKit
import Synchronization
import Testing

/// The code forms of Apple's introduction to async CloudKit, against a running cloud.
@Suite(.timeLimit(.minutes(20))) struct AsyncCodeFormsTests {
    /// Three records of a zone that exist, and one that does not.
    private func prepare(_ database: CKDatabase) async throws -> (existing: [CKRecord.ID], missing: CKRecord.ID) {
        let zone = try await database.save(CKRecordZone(zoneName: "Forms"))
        let records = (1...3).map { number in
            let record = CKRecord(recordType: "Note", recordID: .init(recordName: "n\(number)", zoneID: zone.zoneID))
            record["title"] = "Note \(number)"
            return record
        }
        _ = try await database.modifyRecords(saving: records, deleting: [])
        return (records.map(\.recordID), CKRecord.ID(recordName: "missing", zoneID: zone.zoneID))
    }

    @Test func `A single delete with a completion handler`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let recordID = try await prepare(database).existing[0]
            let deleted: CKRecord.ID? = try await withCheckedThrowingContinuation { continuation in
                database.delete(withRecordID: recordID) { recordID, error in
                    if let error {
                        continuation.resume(throwing: error)
                    } else {
                        continuation.resume(returning: recordID)
                    }
                }
            }
            #expect(deleted == recordID)
            await #expect(throws: CKError.self) { try await database.record(for: recordID) }
        }
    }

    @Test func `A single delete with await`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let recordID = try await prepare(database).existing[0]
            let deleted = try await database.deleteRecord(withID: recordID)
            #expect(deleted == recordID)
        }
    }

    @Test func `Old callbacks of a fetch see the partial failure`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let (existing, missing) = try await prepare(database)
            let fetched = Mutex(0)
            let failed = Mutex<[CKError.Code]>([])
            let error: (any Error)? = await withCheckedContinuation { continuation in
                let operation = CKFetchRecordsOperation(recordIDs: existing + [missing])
                operation.perRecordCompletionBlock = { record, _, error in
                    if record != nil { fetched.withLock { $0 += 1 } }
                    if let error = error as? CKError { failed.withLock { $0.append(error.code) } }
                }
                operation.fetchRecordsCompletionBlock = { _, error in continuation.resume(returning: error) }
                database.add(operation)
            }
            #expect(fetched.withLock { $0 } == 3)
            #expect(failed.withLock { $0 } == [.unknownItem])
            let partial = try #require(error as? CKError)
            #expect(partial.code == .partialFailure)
            let item = try #require(partial.partialErrorsByItemID?[missing] as? CKError)
            #expect(item.code == .unknownItem)
            #expect(partial.partialErrorsByItemID?.count == 1)
        }
    }

    @Test func `New callbacks of a fetch see three successes, one unknown item, and success as a whole`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let (existing, missing) = try await prepare(database)
            let names = Mutex<Set<String>>([])
            let failed = Mutex<[CKRecord.ID: CKError.Code]>([:])
            let result: Result<Void, any Error> = await withCheckedContinuation { continuation in
                let operation = CKFetchRecordsOperation(recordIDs: existing + [missing])
                operation.perRecordResultBlock = { recordID, result in
                    switch result {
                    case .success(let record): names.withLock { _ = $0.insert(record.recordID.recordName) }
                    case .failure(let error): failed.withLock { $0[recordID] = (error as? CKError)?.code }
                    }
                }
                operation.fetchRecordsResultBlock = { continuation.resume(returning: $0) }
                database.add(operation)
            }
            try result.get()
            #expect(names.withLock { $0 } == ["n1", "n2", "n3"])
            #expect(failed.withLock { $0 } == [missing: .unknownItem])
        }
    }

    @Test func `modifyRecords with a loop over the delete results`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let (existing, _) = try await prepare(database)
            let (_, deleteResults) = try await database.modifyRecords(saving: [], deleting: existing)
            #expect(deleteResults.count == 3)
            for (recordID, result) in deleteResults {
                switch result {
                case .success: #expect(existing.contains(recordID))
                case .failure(let error): Issue.record(error)
                }
            }
        }
    }

    @Test func `With no cloud to reach the whole operation fails as a network error`() async throws {
        let container = try await ThrowawayCloud.run { cloud in
            // Port 9 takes an administrator to listen on.
            try await cloud.device(of: cloud.addUser("ada"), at: "http://127.0.0.1:9")
        }
        do {
            _ = try await container.privateCloudDatabase.record(for: CKRecord.ID(recordName: "any"))
            Issue.record("nothing listens any more")
        } catch let error as CKError {
            #expect(error.code == .networkUnavailable)
        }
    }
}
