import CloudKit
import Foundation
import Testing

/// Answers that have no space for everything that was asked for.
@Suite(.timeLimit(.minutes(20))) struct LargeAnswerTests {
    @Test func `B-LIM-17 all of many large records are fetched by name and found by a query`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let zone = CKRecordZone(zoneName: "Large")
            _ = try await database.save(zone)
            let records = (0..<24).map { number in
                let record = CKRecord(
                    recordType: "Large", recordID: CKRecord.ID(recordName: "r\(100 + number)", zoneID: zone.zoneID))
                record["data"] = Data(repeating: UInt8(number), count: 600_000)
                record["number"] = number
                return record
            }
            for start in stride(from: 0, to: records.count, by: 2) {
                _ = try await database.modifyRecords(saving: Array(records[start..<(start + 2)]), deleting: [])
            }
            let found = try await database.records(for: records.map(\.recordID))
            #expect(found.count == 24)
            for (number, record) in records.enumerated() {
                let data = try found[record.recordID]?.get()["data"] as? Data
                #expect(data == Data(repeating: UInt8(number), count: 600_000))
            }
            let query = CKQuery(recordType: "Large", predicate: NSPredicate(format: "number >= 0"))
            query.sortDescriptors = [NSSortDescriptor(key: "number", ascending: false)]
            var (page, cursor) = try await database.records(matching: query, inZoneWith: zone.zoneID)
            var names = page.map(\.0.recordName)
            while let next = cursor {
                (page, cursor) = try await database.records(continuingMatchFrom: next)
                names += page.map(\.0.recordName)
            }
            #expect(names == records.reversed().map(\.recordID.recordName))
        }
    }
}
