import CloudKit
import Synchronization
import Testing

/// Operations as apps queue them, against a running cloud.
@Suite(.timeLimit(.minutes(20))) struct OperationFormsTests {
    @Test func `Operations on a queue of the app wait for their dependencies`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let zone = CKRecordZone(zoneName: "Queue")
            let order = Mutex<[String]>([])
            let fetched: CKRecord? = await withCheckedContinuation { continuation in
                let makeZone = CKModifyRecordZonesOperation(recordZonesToSave: [zone], recordZoneIDsToDelete: nil)
                makeZone.modifyRecordZonesResultBlock = { _ in order.withLock { $0.append("zone") } }
                let record = CKRecord(recordType: "T", recordID: .init(recordName: "r", zoneID: zone.zoneID))
                record["n"] = 1
                let save = CKModifyRecordsOperation(recordsToSave: [record], recordIDsToDelete: nil)
                save.modifyRecordsCompletionBlock = { _, _, error in
                    #expect(error == nil)
                    order.withLock { $0.append("save") }
                }
                save.addDependency(makeZone)
                let fetch = CKFetchRecordsOperation(recordIDs: [record.recordID])
                fetch.fetchRecordsCompletionBlock = { records, _ in
                    order.withLock { $0.append("fetch") }
                    continuation.resume(returning: records?[record.recordID])
                }
                fetch.addDependency(save)
                let queue = OperationQueue()
                for operation in [fetch, save, makeZone] {
                    operation.database = database
                    queue.addOperation(operation)
                }
            }
            #expect(fetched?["n"] as? Int == 1)
            #expect(order.withLock { $0 } == ["zone", "save", "fetch"])
        }
    }

    @Test func `B-CHG-13 a change operation goes through several zones with a token each`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let zones = [CKRecordZone(zoneName: "One"), CKRecordZone(zoneName: "Two")]
            _ = try await database.modifyRecordZones(saving: zones, deleting: [])
            for zone in zones {
                let records = (0..<3).map {
                    CKRecord(recordType: "T", recordID: .init(recordName: "\($0)", zoneID: zone.zoneID))
                }
                _ = try await database.modifyRecords(saving: records, deleting: [])
            }
            let missing = CKRecordZone.ID(zoneName: "Missing", ownerName: CKCurrentUserDefaultName)
            let changed = Mutex<[CKRecord.ID]>([])
            let finished = Mutex<[CKRecordZone.ID: Bool]>([:])
            let result: Result<Void, any Error> = await withCheckedContinuation { continuation in
                let operation = CKFetchRecordZoneChangesOperation(
                    recordZoneIDs: zones.map(\.zoneID) + [missing], configurationsByRecordZoneID: nil)
                operation.recordWasChangedBlock = { recordID, result in
                    if case .success = result { changed.withLock { $0.append(recordID) } }
                }
                operation.recordZoneFetchResultBlock = { zoneID, result in
                    if case .success = result {
                        finished.withLock { $0[zoneID] = true }
                    } else {
                        finished.withLock { $0[zoneID] = false }
                    }
                }
                operation.fetchRecordZoneChangesResultBlock = { continuation.resume(returning: $0) }
                database.add(operation)
            }
            _ = result
            #expect(changed.withLock { $0.count } == 6)
            #expect(finished.withLock { $0 } == [zones[0].zoneID: true, zones[1].zoneID: true, missing: false])
        }
    }

    @Test func `B-LIM-01 401 items are refused before anything is sent`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let records = (0..<401).map { _ in CKRecord(recordType: "T") }
            await expect(.limitExceeded) { _ = try await database.modifyRecords(saving: records, deleting: []) }
        }
    }

    @Test func `B-LIM-05 a record over 1 MB is too large, and the cloud goes on`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let large = CKRecord(recordType: "T")
            large["data"] = Data(repeating: 1, count: 1_100_000)
            await expect(.limitExceeded) { _ = try await database.save(large) }
            let small = CKRecord(recordType: "T")
            small["data"] = Data(repeating: 1, count: 1_000)
            try await database.save(small)
        }
    }

    @Test func `B-REC-11 a value of another type than the field's is refused with both types`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let first = CKRecord(recordType: "T")
            first["x"] = 1
            try await database.save(first)
            let second = CKRecord(recordType: "T")
            second["x"] = "one"
            do {
                try await database.save(second)
                Issue.record("the type differs")
            } catch let error as CKError {
                #expect(error.code == .invalidArguments)
                #expect(error.localizedDescription.contains("STRING"))
                #expect(error.localizedDescription.contains("INT64"))
            }
        }
    }

    @Test func `B-DB-13 the default zone has no change feed`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            await expect(.invalidArguments) {
                _ = try await database.recordZoneChanges(inZoneWith: CKRecordZone.default().zoneID, since: nil)
            }
        }
    }

    @Test func `B-REF-08 deleting a record deletes the records that refer to it with deleteSelf`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let zone = try await database.save(CKRecordZone(zoneName: "Z"))
            let album = CKRecord(recordType: "Album", recordID: .init(recordName: "album", zoneID: zone.zoneID))
            let photo = CKRecord(recordType: "Photo", recordID: .init(recordName: "photo", zoneID: zone.zoneID))
            photo["album"] = CKRecord.Reference(record: album, action: .deleteSelf)
            _ = try await database.modifyRecords(saving: [photo, album], deleting: [])
            let token = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: nil).changeToken
            _ = try await database.deleteRecord(withID: album.recordID)
            await expect(.unknownItem) { _ = try await database.record(for: photo.recordID) }
            let changes = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: token)
            #expect(Set(changes.deletions.map(\.recordID)) == [album.recordID, photo.recordID])
        }
    }

    @Test func `B-REF-03 B-REF-05 a parent must exist and cannot go while it has children`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let zone = try await database.save(CKRecordZone(zoneName: "Z"))
            let parent = CKRecord(recordType: "P", recordID: .init(recordName: "parent", zoneID: zone.zoneID))
            let child = CKRecord(recordType: "C", recordID: .init(recordName: "child", zoneID: zone.zoneID))
            child.setParent(parent)
            await expect(.referenceViolation) { _ = try await database.save(child) }
            _ = try await database.modifyRecords(saving: [child, parent], deleting: [])
            let read = try await database.record(for: child.recordID)
            #expect(read.parent?.recordID == parent.recordID)
            await expect(.referenceViolation) { _ = try await database.deleteRecord(withID: parent.recordID) }
            let (_, deleted) = try await database.modifyRecords(
                saving: [], deleting: [parent.recordID, child.recordID])
            #expect(deleted.values.allSatisfy { code($0) == nil })
        }
    }

    @Test func `B-AST-05 a record whose file is missing is refused, and nothing is saved`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let photo = CKRecord(recordType: "Photo")
            photo["file"] = CKAsset(fileURL: URL(fileURLWithPath: "/nowhere/photo.jpg"))
            await expect(.assetFileNotFound) { try await database.save(photo) }
            await expect(.unknownItem) { _ = try await database.record(for: photo.recordID) }
        }
    }
}
