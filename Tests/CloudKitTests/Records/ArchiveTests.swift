import CloudKitModel
import Testing

@testable import CloudKit
@testable import CloudKitClient

@Suite(.timeLimit(.minutes(20))) struct ArchiveTests {
    private let zone = CKRecordZone.ID(zoneName: "z", ownerName: "_abc")

    @Test func `T5 IDs and references survive an archive`() throws {
        let id = CKRecord.ID(recordName: "r", zoneID: zone)
        #expect(try archivedAndBack(id) == id)
        #expect(try archivedAndBack(zone) == zone)
        let reference = CKRecord.Reference(recordID: id, action: .deleteSelf)
        #expect(try archivedAndBack(reference) == reference)
        #expect(try archivedAndBack(CKServerChangeToken("abc")) == CKServerChangeToken("abc"))
    }

    @Test func `B-ZN-04 a zone survives an archive with its capabilities`() throws {
        let made = CKRecordZone(zoneID: zone, capabilities: [.atomic, .sharing], share: nil, scope: .perZone)
        let again = try archivedAndBack(made)
        #expect(again.zoneID == zone)
        #expect(again.capabilities == [.atomic, .sharing])
        #expect(again.encryptionScope == .perZone)
    }

    @Test func `B-REC-04 system fields come back without values and changes, and can be edited`() throws {
        let record = try CKRecord(Fixture.record(fields: [("a", .int64(1))], parent: "p"))
        record["a"] = 2
        let again = try decodedSystemFields(of: record)
        #expect(again.recordID == record.recordID)
        #expect(again.recordType == record.recordType)
        #expect(again.recordChangeTag == record.recordChangeTag)
        #expect(again.creationDate == record.creationDate)
        #expect(again.modificationDate == record.modificationDate)
        #expect(again.creatorUserRecordID == record.creatorUserRecordID)
        #expect(again.parent == record.parent)
        #expect(again.allKeys().isEmpty)
        #expect(again.changedKeys().isEmpty)
        again["b"] = 3
        let operation = try again.saveOperation(checksTag: true, allKeys: false)
        #expect(operation.kind == .update)
        #expect(operation.change.fields.map(\.name) == ["b"])
    }

    @Test func `a whole record comes back with values, changes and ancestor`() throws {
        let record = try CKRecord(
            Fixture.record(fields: [("a", .int64(1)), ("gone", .string("g")), ("kept", .double(0.1))]))
        record["a"] = 2
        record["gone"] = nil
        record["big"] = UInt64.max
        record["flag"] = true
        record["date"] = Date(timeIntervalSinceReferenceDate: 0.1)
        record["data"] = Data([0, 255])
        record["list"] = [1.5, 2.5]
        record["place"] = CLLocation(latitude: 12.340000000000002, longitude: 1)
        record["file"] = CKAsset(fileURL: URL(fileURLWithPath: "/nowhere"))
        record["pointer"] = CKRecord.Reference(recordID: CKRecord.ID(recordName: "x"), action: .deleteSelf)
        record.encryptedValues["e"] = "s"
        let again = try archivedAndBack(record)
        #expect(again.changedKeys() == record.changedKeys())
        #expect(again.allKeys() == record.allKeys())
        for key in record.allKeys() where key != "file" {
            #expect(again[key] as? NSObject == record[key] as? NSObject, "\(key)")
        }
        #expect((again["file"] as? CKAsset)?.fileURL?.path == "/nowhere")
        #expect((again["kept"] as? Double)?.bitPattern == 0.1.bitPattern)
        #expect(again["flag"] as? Bool == true)
        #expect(again.encryptedValues["e"] as? String == "s")
        #expect(again.ancestor["a"] as? Int == 1)
        #expect(again.ancestor["gone"] as? String == "g")
        #expect(again.ancestor["big"] == nil)
    }

    @Test func `T3 an archive of something else is refused and does not end the process`() throws {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        archiver.encode("text" as NSString, forKey: "other")
        archiver.finishEncoding()
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
        #expect(CKRecord(coder: unarchiver) == nil)
        #expect(CKRecord.ID(coder: unarchiver) == nil)
        #expect(CKRecordZone.ID(coder: unarchiver) == nil)
        #expect(CKServerChangeToken(coder: unarchiver) == nil)
        #expect(CKQueryCursor(coder: unarchiver) == nil)
        #expect(CKUserIdentity(coder: unarchiver) == nil)
        #expect(CKQuery(coder: unarchiver).recordType == "?")
    }

    @Test func `T3 a wrong class where our bytes should be is refused and does not end the process`() throws {
        for value in ["text" as NSString, NSNumber(value: 1), ["a"] as NSArray, NSDate()] as [NSObject & NSCoding] {
            let archiver = NSKeyedArchiver(requiringSecureCoding: true)
            archiver.encode(value, forKey: "CloudKitArchive")
            archiver.finishEncoding()
            let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
            #expect(CKRecord(coder: unarchiver) == nil)
        }
    }

    @Test func `damaged archives give nil or an error, never the end of the process`() throws {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        let record = CKRecord(recordType: "T", recordID: CKRecord.ID(recordName: "r"))
        record["a"] = [1, 2]
        record.encode(with: archiver)
        archiver.finishEncoding()
        let whole = archiver.encodedData
        // Damage inside our own block only: Foundation's reader handles its own part.
        let mark = try #require(whole.range(of: Data("\"ancestor\"".utf8)) ?? whole.range(of: Data("{\"".utf8)))
        for offset in stride(from: mark.lowerBound, to: min(mark.lowerBound + 300, whole.count - 200), by: 3) {
            var damaged = whole
            damaged[offset] ^= 0x11
            if let unarchiver = try? NSKeyedUnarchiver(forReadingFrom: damaged) {
                _ = CKRecord(coder: unarchiver)?.allKeys()
            }
        }
    }

    @Test func `assets and other values of fields can be archived on their own`() throws {
        let asset = CKAsset(fileURL: URL(fileURLWithPath: "/nowhere"))
        #expect(try archivedAndBack(asset).fileURL?.path == "/nowhere")
        let values = ["file": asset, "place": CLLocation(latitude: 12.340000000000002, longitude: 1)] as NSDictionary
        let again = try archivedAndBack(values)
        #expect((again["file"] as? CKAsset)?.fileURL?.path == "/nowhere")
        #expect(again["place"] as? CLLocation == values["place"] as? CLLocation)
        #expect(try archivedAndBack([asset] as NSArray).firstObject is CKAsset)
    }

    @Test func `B-SUB-05 subscriptions compare by value, also after an archive`() throws {
        let info = CKSubscription.NotificationInfo(alertBody: "New", shouldBadge: true)
        let condition = NSPredicate(format: "a == %@ AND b > 3", "x")
        let query = CKQuerySubscription(
            recordType: "T", predicate: condition, subscriptionID: "q", options: .firesOnRecordCreation)
        query.zoneID = zone
        let inZone = CKRecordZoneSubscription(zoneID: zone, subscriptionID: "z")
        let database = CKDatabaseSubscription(subscriptionID: "d")
        let refused = CKQuerySubscription(
            recordType: "T", predicate: NSPredicate(format: "a LIKE 'x'"), subscriptionID: "l", options: [])
        for subscription in [query, inZone, database, refused] as [CKSubscription] {
            subscription.notificationInfo = info
            let again = try archivedAndBack(subscription)
            #expect(again == subscription)
            #expect(again.hash == subscription.hash)
            #expect(again.notificationInfo == info)
            again.notificationInfo = nil
            #expect(again != subscription)
        }
        #expect(CKDatabaseSubscription(subscriptionID: "z") != inZone as CKSubscription)
        let other = CKQuerySubscription(
            recordType: "T", predicate: NSPredicate(format: "a == 'y'"), subscriptionID: "q",
            options: .firesOnRecordCreation)
        other.notificationInfo = info
        other.zoneID = zone
        #expect(other != query)
    }

    @Test func `B-QRY-18 a cursor keeps its query and zone`() throws {
        let query = CKQuery(
            recordType: "T",
            predicate: NSPredicate(
                format: "a == %@ AND d > %@ AND distanceToLocation:fromLocation:(p, %@) < 5", "x",
                Date(timeIntervalSince1970: 1),
                CLLocation(latitude: 1, longitude: 2)))
        query.sortDescriptors = [NSSortDescriptor(key: "a", ascending: false)]
        let cursor = CKQueryCursor(marker: "m", query: query, zoneID: zone)
        let again = try archivedAndBack(cursor)
        #expect(again.marker == "m")
        #expect(again.zoneID == zone)
        #expect(again.query.recordType == "T")
        #expect(again.query.tree == query.tree)
        #expect(again.query.sortTerms == query.sortTerms)
        let copy = try archivedAndBack(query)
        #expect(try copy.model(in: zone) == query.model(in: zone))
    }

    @Test func `identities and how they were looked up survive an archive`() throws {
        let info = CKUserIdentity.LookupInfo(emailAddress: "a@example.com")
        #expect(try archivedAndBack(info) == info)
        var name = PersonNameComponents()
        name.givenName = "Ada"
        let identity = CKUserIdentity(
            userRecordID: CKRecord.ID(recordName: "_u"), lookupInfo: info, nameComponents: name, hasiCloudAccount: true)
        let again = try archivedAndBack(identity)
        #expect(again == identity)
        #expect(again.nameComponents?.givenName == "Ada")
        #expect(CKUserIdentity.LookupInfo.lookupInfos(withEmails: ["a", "b"]).map(\.emailAddress) == ["a", "b"])
        #expect(CKUserIdentity.LookupInfo(phoneNumber: "1").phoneNumber == "1")
    }
}

/// Values of the kind a server answers.
enum Fixture {
    static func record(
        _ name: String = "r", fields: [(String, FieldValue)] = [], tag: String = "t1", parent: String? = nil,
        zone: ZoneID = ZoneID(zoneName: "z"), modified: Int64 = 1_700_000_000_123
    ) throws -> Record {
        Record(
            id: RecordID(recordName: name, zoneID: zone), recordType: "T",
            fields: try fields.map { try Field(name: $0.0, value: $0.1) }, changeTag: ChangeTag(tag),
            created: Stamp(timestamp: 1_600_000_000_000, user: .caller),
            modified: Stamp(timestamp: modified, user: UserID("_other")), parent: parent)
    }

    /// Returns a record with sealed fields that no key opens.
    static func sealed(_ names: [String], epoch: UInt32 = 7) -> Record {
        let stamp = Stamp(timestamp: 1_600_000_000_000, user: .caller)
        let fields = names.map { Field(name: $0, type: .int64, sealed: Array(repeating: 1, count: 40)) }
        return Record(
            id: RecordID(recordName: "r", zoneID: ZoneID(zoneName: "z")), recordType: "T", fields: fields,
            changeTag: ChangeTag("t1"), created: stamp, modified: stamp, protection: Protection(epoch: epoch))
    }
}

// Records without anything encrypted need no keys.
extension CKRecord {
    convenience init(_ record: Record) throws(CKError) {
        try self.init(OpenedRecord(record))
    }

    func acknowledge(_ saved: Record, sent: RecordState) throws(CKError) {
        try acknowledge(OpenedRecord(saved), sent: sent)
    }
}
