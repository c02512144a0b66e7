import CloudKit
import Testing

/// The properties of zones as apps see them.
@Suite(.timeLimit(.minutes(20))) struct ZoneRulesTests {
    private func note(_ name: String, in zone: CKRecordZone.ID, _ text: String = "") -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        record["text"] = text
        return record
    }

    @Test func `B-ZN-05 saving a record creates no zone, and no user creates one for another`() async throws {
        try await ThrowawayCloud.run { cloud in
            let ada = try await cloud.device(of: cloud.addUser("ada"))
            let ben = try await cloud.device(of: cloud.addUser("ben"))
            let unmade = CKRecordZone.ID(zoneName: "Unmade")
            await expect(.zoneNotFound) { try await ada.privateCloudDatabase.save(self.note("R", in: unmade)) }
            #expect(try await ada.privateCloudDatabase.allRecordZones().map(\.zoneID) == [.default])
            let theirs = CKRecordZone.ID(zoneName: "Theirs", ownerName: try await ben.userRecordID().recordName)
            for database in [ada.privateCloudDatabase, ada.sharedCloudDatabase, ada.publicCloudDatabase] {
                await #expect(throws: CKError.self) { try await database.save(CKRecordZone(zoneID: theirs)) }
            }
            #expect(try await ben.privateCloudDatabase.allRecordZones().map(\.zoneID) == [.default])
        }
    }

    @Test func `B-ZN-14 records of one name in two zones are two, and none ever moves`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let a = try await database.save(CKRecordZone(zoneName: "A")).zoneID
            let b = try await database.save(CKRecordZone(zoneName: "B")).zoneID
            try await database.save(note("R", in: a, "first"))
            try await database.save(note("R", in: b, "second"))
            try await database.deleteRecord(withID: CKRecord.ID(recordName: "R", zoneID: b))
            let left = try await database.record(for: CKRecord.ID(recordName: "R", zoneID: a))
            #expect(left["text"] as? String == "first")
        }
    }

    @Test func `B-CHG-04, B-CHG-07 the default zone is in no feed, and one's own writes are in the zone's`()
        async throws
    {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let zone = try await database.save(CKRecordZone(zoneName: "Z")).zoneID
            let before = try await database.databaseChanges(since: nil).changeToken
            let start = try await database.recordZoneChanges(inZoneWith: zone, since: nil).changeToken
            try await database.save(CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "Default")))
            let quiet = try await database.databaseChanges(since: before)
            #expect(quiet.modifications.isEmpty && quiet.deletions.isEmpty)
            try await database.save(note("R", in: zone, "mine"))
            let changes = try await database.recordZoneChanges(inZoneWith: zone, since: start)
            #expect(changes.modificationResultsByID.keys.map(\.recordName) == ["R"])
            #expect(try await database.databaseChanges(since: before).modifications.map(\.zoneID) == [zone])
            await expect(.invalidArguments) {
                _ = try await database.recordZoneChanges(inZoneWith: .default, since: nil)
            }
        }
    }

    @Test func `B-DB-05 a deletion from the public database leaves no trace that other users could see`()
        async throws
    {
        try await ThrowawayCloud.run { cloud in
            let ada = try await cloud.device(of: cloud.addUser("ada")).publicCloudDatabase
            let ben = try await cloud.device(of: cloud.addUser("ben")).publicCloudDatabase
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "R"))
            record["text"] = "here"
            try await ada.save(record)
            let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "text == 'here'"))
            #expect(try await ben.records(matching: query).matchResults.map(\.0) == [record.recordID])
            try await ada.deleteRecord(withID: record.recordID)
            #expect(try await ben.records(matching: query).matchResults.isEmpty)
            await expect(.unknownItem) { _ = try await ben.record(for: record.recordID) }
            await #expect(throws: CKError.self) { _ = try await ben.databaseChanges(since: nil) }
            await #expect(throws: CKError.self) {
                _ = try await ben.recordZoneChanges(inZoneWith: .default, since: nil)
            }
        }
    }

    @Test func `B-REF-10 a query for a reference looks at the record's ID and not at the action`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let zone = try await database.save(CKRecordZone(zoneName: "Z")).zoneID
            let list = try await database.save(
                CKRecord(recordType: "List", recordID: .init(recordName: "L", zoneID: zone)))
            let weak = note("Weak", in: zone)
            weak["list"] = CKRecord.Reference(record: list, action: .none)
            let strong = note("Strong", in: zone)
            strong["list"] = CKRecord.Reference(record: list, action: .deleteSelf)
            let other = note("Other", in: zone)
            other["list"] = CKRecord.Reference(record: weak, action: .none)
            _ = try await database.modifyRecords(saving: [weak, strong, other], deleting: [])
            for value in [list.recordID, CKRecord.Reference(record: list, action: .none) as Any] {
                let query = CKQuery(
                    recordType: "Note", predicate: NSPredicate(format: "list == %@", argumentArray: [value]))
                let found = try await database.records(matching: query, inZoneWith: zone).matchResults
                #expect(Set(found.map(\.0.recordName)) == ["Weak", "Strong"])
            }
        }
    }
}
