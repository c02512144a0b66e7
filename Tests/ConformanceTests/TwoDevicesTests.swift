import CloudKit
import Testing

/// Two devices of one user, and other users.
@Suite(.timeLimit(.minutes(20))) struct TwoDevicesTests {
    @Test func `B-SAV-02 B-SAV-07 a conflict brings the three records, and the merged one is saved`() async throws {
        try await ThrowawayCloud.run { cloud in
            let user = try await cloud.addUser("ada")
            let a = try await cloud.device(of: user, named: "a").privateCloudDatabase
            let b = try await cloud.device(of: user, named: "b").privateCloudDatabase
            let zone = try await a.save(CKRecordZone(zoneName: "Contacts"))
            let record = CKRecord(recordType: "Contact", recordID: .init(recordName: "c1", zoneID: zone.zoneID))
            record["name"] = "Ada"
            record["city"] = "London"
            let onA = try await a.save(record)
            let onB = try await b.record(for: record.recordID)

            onA["city"] = "Paris"
            _ = try await a.save(onA)
            onB["name"] = "Ada L."
            do {
                _ = try await b.save(onB)
                Issue.record("the tag is stale")
            } catch let error as CKError where error.code == .serverRecordChanged {
                let server = try #require(error.serverRecord)
                #expect(server["city"] as? String == "Paris")
                #expect(server["name"] as? String == "Ada")
                #expect(error.clientRecord?["name"] as? String == "Ada L.")
                #expect(error.ancestorRecord?["name"] as? String == "Ada")
                #expect(error.ancestorRecord?["city"] as? String == "London")
                server["name"] = "Ada L."
                let merged = try await b.save(server)
                #expect(merged["city"] as? String == "Paris")
            }
            let final = try await a.record(for: record.recordID)
            #expect(final["name"] as? String == "Ada L.")
            #expect(final["city"] as? String == "Paris")
        }
    }

    @Test func `B-REC-01 every type of value comes back as it went`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let record = CKRecord(recordType: "Everything")
            let date = Date(timeIntervalSince1970: 1_700_000_000.125)
            let place = CLLocation(latitude: 51.5, longitude: -0.12)
            record["text"] = "Grüße, 世界 \u{1F30D} \"quoted\" \n"
            record["whole"] = 42
            record["big"] = Int64.max
            record["fraction"] = 12.340000000000002
            record["flag"] = true
            record["date"] = date
            record["data"] = Data([0, 1, 254, 255])
            record["place"] = place
            record["reference"] = CKRecord.Reference(
                recordID: CKRecord.ID(recordName: "elsewhere"), action: .none)
            record["texts"] = ["a", "b"]
            record["numbers"] = [1, 2, 3]
            record["dates"] = [date]
            try await database.save(record)

            let read = try await database.record(for: record.recordID)
            #expect(read["text"] as? String == "Grüße, 世界 \u{1F30D} \"quoted\" \n")
            #expect(read["whole"] as? Int == 42)
            #expect(read["big"] as? Int64 == .max)
            #expect((read["fraction"] as? Double)?.bitPattern == 12.340000000000002.bitPattern)
            #expect(read["flag"] as? Bool == true)
            #expect(read["date"] as? Date == date)
            #expect(read["data"] as? Data == Data([0, 1, 254, 255]))
            #expect((read["place"] as? CLLocation)?.coordinate.latitude == 51.5)
            #expect((read["reference"] as? CKRecord.Reference)?.recordID.recordName == "elsewhere")
            #expect(read["texts"] as? [String] == ["a", "b"])
            #expect(read["numbers"] as? [Int] == [1, 2, 3])
            #expect(read["dates"] as? [Date] == [date])
            #expect(read.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
            #expect(read.recordChangeTag == record.recordChangeTag)
            #expect(read.recordID == record.recordID)
        }
    }

    @Test func `B-BAT-02 an atomic batch with a culprit changes nothing`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let zone = try await database.save(CKRecordZone(zoneName: "Z"))
            let taken = CKRecord(recordType: "T", recordID: .init(recordName: "taken", zoneID: zone.zoneID))
            taken["n"] = 1
            try await database.save(taken)
            let again = CKRecord(recordType: "T", recordID: taken.recordID)
            again["n"] = 2
            let fresh = CKRecord(recordType: "T", recordID: .init(recordName: "fresh", zoneID: zone.zoneID))
            fresh["n"] = 3
            let error = await #expect(throws: CKError.self) {
                try await database.modifyRecords(saving: [again, fresh], deleting: [], atomically: true)
            }
            #expect(error?.code == .partialFailure)
            let errors = error?.partialErrorsByItemID ?? [:]
            #expect((errors[again.recordID] as? CKError)?.code == .serverRecordChanged)
            #expect((errors[fresh.recordID] as? CKError)?.code == .batchRequestFailed)
            await #expect(throws: CKError.self) { try await database.record(for: fresh.recordID) }
            let unchanged = try await database.record(for: taken.recordID)
            #expect(unchanged["n"] as? Int == 1)
        }
    }

    @Test func `B-CHG-05 B-CHG-11 changes are pulled with tokens until no more are coming`() async throws {
        try await ThrowawayCloud.run { cloud in
            let user = try await cloud.addUser("ada")
            let a = try await cloud.device(of: user, named: "a").privateCloudDatabase
            let b = try await cloud.device(of: user, named: "b").privateCloudDatabase
            let zone = try await a.save(CKRecordZone(zoneName: "Z"))
            let records = (0..<25).map { number in
                let record = CKRecord(recordType: "T", recordID: .init(recordName: "r\(number)", zoneID: zone.zoneID))
                record["n"] = number
                return record
            }
            _ = try await a.modifyRecords(saving: records, deleting: [])
            var seen: Set<String> = []
            var token: CKServerChangeToken?
            var pages = 0
            repeat {
                let page = try await b.recordZoneChanges(inZoneWith: zone.zoneID, since: token, resultsLimit: 10)
                for (recordID, result) in page.modificationResultsByID {
                    #expect(try result.get().record.recordID == recordID)
                    #expect(seen.insert(recordID.recordName).inserted)
                }
                token = page.changeToken
                pages += 1
                if !page.moreComing { break }
            } while true
            #expect(seen.count == 25)
            #expect(pages == 3)

            // A token survives being stored.
            let archived = try NSKeyedArchiver.archivedData(
                withRootObject: try #require(token), requiringSecureCoding: true)
            let restored = try #require(
                try NSKeyedUnarchiver.unarchivedObject(ofClass: CKServerChangeToken.self, from: archived))
            records[3]["n"] = 300
            try await a.save(records[3])
            _ = try await a.deleteRecord(withID: records[4].recordID)
            let later = try await b.recordZoneChanges(inZoneWith: zone.zoneID, since: restored)
            #expect(later.modificationResultsByID.keys.map(\.recordName) == ["r3"])
            #expect(later.deletions.map(\.recordID.recordName) == ["r4"])
            #expect(later.deletions.map(\.recordType) == ["T"])
            #expect(!later.moreComing)
        }
    }

    @Test func `B-CHG-03 the database feed names zones that changed and zones that are gone`() async throws {
        try await ThrowawayCloud.run { cloud in
            let user = try await cloud.addUser("ada")
            let a = try await cloud.device(of: user).privateCloudDatabase
            let b = try await cloud.device(of: user).privateCloudDatabase
            let one = try await a.save(CKRecordZone(zoneName: "One"))
            let two = try await a.save(CKRecordZone(zoneName: "Two"))
            let first = try await b.databaseChanges(since: nil)
            #expect(Set(first.modifications.map(\.zoneID)) == [one.zoneID, two.zoneID])
            _ = try await a.deleteRecordZone(withID: two.zoneID)
            try await a.save(CKRecord(recordType: "T", recordID: .init(recordName: "r", zoneID: one.zoneID)))
            let second = try await b.databaseChanges(since: first.changeToken)
            #expect(second.modifications.map(\.zoneID) == [one.zoneID])
            #expect(second.deletions.map(\.zoneID) == [two.zoneID])
            #expect(second.deletions.map(\.reason) == [.deleted])
            let third = try await b.databaseChanges(since: second.changeToken)
            #expect(third.modifications.isEmpty && third.deletions.isEmpty)
        }
    }

    @Test func `B-CHG-10 a token of a zone that was deleted and made again has expired`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let zone = CKRecordZone(zoneName: "Z")
            _ = try await database.save(zone)
            let token = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: nil).changeToken
            _ = try await database.deleteRecordZone(withID: zone.zoneID)
            _ = try await database.save(CKRecordZone(zoneName: "Z"))
            await expect(.changeTokenExpired) {
                _ = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: token)
            }
        }
    }

    @Test func `B-DB-09 another user sees nothing of a private database`() async throws {
        try await ThrowawayCloud.run { cloud in
            let ada = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let bob = try await cloud.device(of: cloud.addUser("bob")).privateCloudDatabase
            let zone = try await ada.save(CKRecordZone(zoneName: "Diary"))
            let page = CKRecord(recordType: "Page", recordID: .init(recordName: "p", zoneID: zone.zoneID))
            try await ada.save(page)
            await expect(.zoneNotFound) { _ = try await bob.record(for: page.recordID) }
            let zones = try await bob.allRecordZones()
            #expect(zones.map(\.zoneID.zoneName) == ["_defaultZone"])
        }
    }

    @Test func `B-DB-03 B-DB-06 the public database is read by all and changed by a record's creator only`()
        async throws
    {
        try await ThrowawayCloud.run { cloud in
            let ada = try await cloud.device(of: cloud.addUser("ada")).publicCloudDatabase
            let bob = try await cloud.device(of: cloud.addUser("bob")).publicCloudDatabase
            let stranger = cloud.strangersDevice().publicCloudDatabase
            let record = CKRecord(recordType: "Place")
            record["name"] = "Park"
            try await ada.save(record)
            let read = try await stranger.record(for: record.recordID)
            #expect(read["name"] as? String == "Park")
            await expect(.notAuthenticated) { _ = try await stranger.save(CKRecord(recordType: "Place")) }
            let copy = try await bob.record(for: record.recordID)
            copy["name"] = "Bob's"
            await expect(.permissionFailure) { _ = try await bob.save(copy) }
            await expect(.permissionFailure) { _ = try await bob.deleteRecord(withID: record.recordID) }
            _ = try await ada.deleteRecord(withID: record.recordID)
        }
    }

    @Test func `B-ACC-02 a forged token is refused, and nothing is written`() async throws {
        try await ThrowawayCloud.run { cloud in
            let forged = cloud.device(showing: "147__54__" + String(repeating: "A", count: 120)).privateCloudDatabase
            await expect(.notAuthenticated) { _ = try await forged.save(CKRecord(recordType: "T")) }
            await expect(.notAuthenticated) {
                _ = try await cloud.strangersDevice().privateCloudDatabase.allRecordZones()
            }
        }
    }
}

/// The code that the body fails with; nil when it does not.
func code(_ body: () async throws -> Void) async -> CKError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? CKError)?.code
    }
}

/// The code of an item's error.
func code<Success>(_ result: Result<Success, any Error>?) -> CKError.Code? {
    guard case .failure(let error) = result else { return nil }
    return (error as? CKError)?.code
}

/// Expects the body to fail with this code.
@discardableResult func expect(
    _ code: CKError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async -> CKError? {
    do {
        try await body()
        Issue.record("expected \(code)", sourceLocation: sourceLocation)
        return nil
    } catch {
        #expect((error as? CKError)?.code == code, sourceLocation: sourceLocation)
        return error as? CKError
    }
}
