import CloudKit
import Testing

/// Queries as apps write them, against a running cloud.
@Suite(.timeLimit(.minutes(20))) struct QueriesTests {
    private func people(_ database: CKDatabase) async throws -> CKRecordZone.ID {
        let zone = try await database.save(CKRecordZone(zoneName: "People"))
        let families = ["Lovelace", "Hopper", "Lamarr", "Noether", "Lem"]
        let records = (0..<50).map { number in
            let record = CKRecord(recordType: "Person", recordID: .init(recordName: "p\(number)", zoneID: zone.zoneID))
            record["family"] = families[number % 5]
            record["age"] = number
            record["born"] = Date(timeIntervalSince1970: Double(number) * 86_400)
            record["tags"] = number.isMultiple(of: 2) ? ["even", "all"] : ["odd", "all"]
            return record
        }
        _ = try await database.modifyRecords(saving: records, deleting: [])
        return zone.zoneID
    }

    private func ages(
        _ predicate: NSPredicate, in database: CKDatabase, _ zone: CKRecordZone.ID
    ) async throws -> [Int] {
        let query = CKQuery(recordType: "Person", predicate: predicate)
        query.sortDescriptors = [NSSortDescriptor(key: "age", ascending: true)]
        let (results, _) = try await database.records(matching: query, inZoneWith: zone)
        return try results.compactMap { try $0.1.get()["age"] as? Int }
    }

    @Test func `B-QRY-02 the documented comparators select the matching records`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let zone = try await people(database)
            func ages(_ format: String, _ arguments: Any?...) async throws -> [Int] {
                try await self.ages(
                    NSPredicate(format: format, argumentArray: arguments.compactMap { $0 }), in: database, zone)
            }
            #expect(try await ages("age == %d", 7) == [7])
            #expect(try await ages("age < %@", 3) == [0, 1, 2])
            #expect(try await ages("%K >= %@ AND age != 48", "age", 47) == [47, 49])
            #expect(try await ages("age BETWEEN {10, 12}") == [10, 11, 12])
            #expect(try await ages("age IN %@", [3, 5, 999]) == [3, 5])
            #expect(try await ages("family BEGINSWITH %@ AND age < 6", "L") == [0, 2, 4, 5])
            #expect(try await ages("tags CONTAINS %@ AND age < 5", "odd") == [1, 3])
            #expect(try await ages("born <= %@", Date(timeIntervalSince1970: 86_400)) == [0, 1])
            #expect(try await ages("NOT (family IN %@) AND age < 5", ["Lem", "Hopper"]) == [0, 2, 3])
            #expect(try await ages("self CONTAINS 'noether' AND age < 10") == [3, 8])
            #expect(try await ages("FALSEPREDICATE") == [])
        }
    }

    @Test func `B-QRY-18 a cursor pages through all results once`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let zone = try await people(database)
            let query = CKQuery(recordType: "Person", predicate: NSPredicate(format: "age >= 0"))
            query.sortDescriptors = [NSSortDescriptor(key: "age", ascending: false)]
            var ages: [Int] = []
            var (results, cursor) = try await database.records(
                matching: query, inZoneWith: zone, desiredKeys: ["age"], resultsLimit: 20)
            while true {
                for (_, result) in results {
                    let record = try result.get()
                    #expect(record["family"] == nil)
                    ages.append(try #require(record["age"] as? Int))
                }
                guard let next = cursor else { break }
                (results, cursor) = try await database.records(
                    continuingMatchFrom: next, desiredKeys: ["age"], resultsLimit: 20)
            }
            #expect(ages == (0..<50).reversed())
        }
    }

    @Test func `B-QRY-15 B-QRY-16 B-QRY-17 invalid queries are refused with their error`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let zone = try await people(database)
            func query(_ type: String, _ predicate: NSPredicate) async throws {
                _ = try await database.records(
                    matching: CKQuery(recordType: type, predicate: predicate), inZoneWith: zone)
            }
            await expect(.unknownItem) { try await query("Unheard", NSPredicate(format: "age == 1")) }
            await expect(.invalidArguments) { try await query("Person", NSPredicate(value: true)) }
            for format in ["age == 1 OR age == 2", "family LIKE 'L*'", "family ENDSWITH 'e'", "family MATCHES 'x'"] {
                await expect(.invalidArguments) { try await query("Person", NSPredicate(format: format)) }
            }
            await expect(.invalidArguments) { try await query("Person", NSPredicate { _, _ in true }) }
        }
    }
}
