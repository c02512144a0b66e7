import CloudKit
import CoreLocation
import Foundation

/// Requests of all kinds by the framework, of which `script/check-browser` records the exchanges.
struct VariedRequests {
    let container: CKContainer
    let number: Int

    private var database: CKDatabase { container.privateCloudDatabase }
    private var zone: CKRecordZone.ID {
        CKRecordZone.ID(zoneName: "Varied\(number)", ownerName: CKCurrentUserDefaultName)
    }

    func run() async throws {
        _ = try await container.userRecordID()
        _ = try await database.save(CKRecordZone(zoneID: zone))
        try await zones()
        try await records()
        try await queries()
        try await changes()
        try await subscriptions()
        try await publicRecords()
        _ = try await database.deleteRecordZone(withID: zone)
        _ = try? await database.recordZone(for: zone)
    }

    private func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zone) }

    private func zones() async throws {
        _ = try await database.allRecordZones()
        _ = try await database.recordZones(for: [
            zone, CKRecordZone.ID(zoneName: "None", ownerName: CKCurrentUserDefaultName),
        ])
    }

    /// A record with a value of every plain type.
    private func varied(_ index: Int) -> CKRecord {
        let record = CKRecord(recordType: "Varied", recordID: id("record\(index)"))
        record["text"] = "Wörter \(index) 🎉 \"quoted\" \\ \(number)"
        record["whole"] = index * 1_000_003 - number
        record["real"] = Double(index) / 7 + Double(number) * 1e10
        record["day"] = Date(timeIntervalSince1970: Double(1_700_000_000 + index * 86_399) + 0.25)
        record["bytes"] = Data((0..<index * 5).map { UInt8(truncatingIfNeeded: $0 * number) })
        record["place"] = CLLocation(latitude: Double(index) - 30.5, longitude: Double(number) + 0.125)
        record["words"] = (0...index).map { "word \($0)" }
        record["wholes"] = (0...index).map { $0 - 3 }
        record["days"] = [Date(timeIntervalSince1970: Double(number))]
        record["other"] = CKRecord.Reference(
            recordID: id("record0"), action: index.isMultiple(of: 2) ? .none : .deleteSelf)
        if index > 0 { record.parent = CKRecord.Reference(recordID: id("record0"), action: .none) }
        return record
    }

    private func records() async throws {
        for index in 0..<6 { _ = try await database.save(varied(index)) }
        _ = try await database.modifyRecords(saving: (6..<12).map(varied), deleting: [id("record5")])
        _ = try? await database.save(varied(3))
        for index in 0..<6 { _ = try? await database.record(for: id("record\(index)")) }
        _ = try await database.records(for: (0..<14).map { id("record\($0)") }, desiredKeys: ["text", "whole"])
        let record = try await database.record(for: id("record2"))
        record["text"] = nil
        record["whole"] = 7
        _ = try await database.save(record)
        _ = try await database.modifyRecords(
            saving: [record, varied(20)], deleting: [], savePolicy: .allKeys, atomically: false)
        _ = try await database.deleteRecord(withID: id("record20"))
    }

    private func queries() async throws {
        for predicate in [
            NSPredicate(format: "whole > %d", 0), NSPredicate(format: "text BEGINSWITH %@", "W"),
            NSPredicate(format: "words CONTAINS %@", "word 2"), NSPredicate(format: "real < %f", 1e12),
        ] {
            let query = CKQuery(recordType: "Varied", predicate: predicate)
            query.sortDescriptors = [NSSortDescriptor(key: "whole", ascending: false)]
            let first = try await database.records(matching: query, inZoneWith: zone, desiredKeys: nil, resultsLimit: 3)
            guard let cursor = first.queryCursor else { continue }
            _ = try await database.records(continuingMatchFrom: cursor, desiredKeys: nil, resultsLimit: 3)
        }
    }

    private func changes() async throws {
        let first = try await database.recordZoneChanges(
            inZoneWith: zone, since: nil, desiredKeys: nil, resultsLimit: 4)
        _ = try await database.recordZoneChanges(
            inZoneWith: zone, since: first.changeToken, desiredKeys: ["text"], resultsLimit: nil)
        let all = try await database.databaseChanges(since: nil)
        _ = try await database.databaseChanges(since: all.changeToken)
    }

    private func subscriptions() async throws {
        let whole = CKRecordZoneSubscription(zoneID: zone, subscriptionID: "zone\(number)")
        let info = CKSubscription.NotificationInfo()
        info.alertBody = "Changed \(number)"
        info.shouldBadge = true
        whole.notificationInfo = info
        let query = CKQuerySubscription(
            recordType: "Varied", predicate: NSPredicate(format: "whole > %d", number),
            subscriptionID: "query\(number)",
            options: [.firesOnRecordCreation, .firesOnRecordUpdate])
        query.zoneID = zone
        query.notificationInfo = info
        _ = try await database.modifySubscriptions(saving: [whole, query], deleting: [])
        _ = try await database.allSubscriptions()
        _ = try await database.subscription(for: "query\(number)")
        _ = try? await database.subscription(for: "none")
        _ = try await database.deleteSubscription(withID: "query\(number)")
        _ = try await database.deleteSubscription(withID: "zone\(number)")
    }

    private func publicRecords() async throws {
        let open = container.publicCloudDatabase
        let record = CKRecord(recordType: "Open", recordID: CKRecord.ID(recordName: "open\(number)"))
        record["text"] = "public \(number)"
        record["whole"] = number
        _ = try await open.save(record)
        _ = try await open.record(for: record.recordID)
        _ = try await open.records(
            matching: CKQuery(recordType: "Open", predicate: NSPredicate(format: "whole >= %d", 0)))
        _ = try await open.deleteRecord(withID: record.recordID)
    }
}
