import CloudKit
import Testing

@Suite(.timeLimit(.minutes(20))) struct CKRecordTests {
    @Test func `B-REC-09 a record without a name gets a UUID in the default zone`() {
        let record = CKRecord(recordType: "Note")
        #expect(UUID(uuidString: record.recordID.recordName) != nil)
        #expect(record.recordID.zoneID.zoneName == "_defaultZone")
        #expect(record.recordID.zoneID.ownerName == CKCurrentUserDefaultName)
        #expect(CKRecord(recordType: "Note").recordID != record.recordID)
    }

    @Test func `B-REC-05 a fresh record has none of the server's fields`() {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "a"))
        #expect(record.recordChangeTag == nil)
        #expect(record.creationDate == nil)
        #expect(record.modificationDate == nil)
        #expect(record.creatorUserRecordID == nil)
        #expect(record.lastModifiedUserRecordID == nil)
        #expect(record.share == nil)
        #expect(record.parent == nil)
        #expect(record.allKeys().isEmpty)
        #expect(record.changedKeys().isEmpty)
    }

    @Test func `B-REC-02 nil removes a key and is a change even of a key that was not there`() {
        let record = CKRecord(recordType: "Note")
        record["a"] = 1
        record["a"] = nil
        record["b"] = nil as String?
        #expect(record.allKeys().isEmpty)
        #expect(record.changedKeys() == ["a", "b"])
    }

    @Test func `B-REC-03 setting an equal value is a change`() throws {
        let record = try decodedSystemFields(of: CKRecord(recordType: "Note"))
        record["a"] = 1
        record["a"] = 1
        #expect(record.changedKeys() == ["a"])
    }

    @Test func `B-ZN-17 records compare by identity and IDs by value`() {
        let id = CKRecord.ID(recordName: "a")
        #expect(CKRecord(recordType: "Note", recordID: id) != CKRecord(recordType: "Note", recordID: id))
        #expect(id == CKRecord.ID(recordName: "a", zoneID: .default))
        #expect(id != CKRecord.ID(recordName: "a", zoneID: CKRecordZone.ID(zoneName: "z")))
        #expect(Set([id, CKRecord.ID(recordName: "a")]).count == 1)
        #expect(
            CKRecord.Reference(recordID: id, action: .none)
                == CKRecord.Reference(recordID: CKRecord.ID(recordName: "a"), action: .none))
        #expect(
            CKRecord.Reference(recordID: id, action: .none) != CKRecord.Reference(recordID: id, action: .deleteSelf))
    }

    // MARK: Forms of values

    @Test func `numbers are read back in any number type`() {
        let record = CKRecord(recordType: "T")
        record["n"] = 3
        #expect(record["n"] as? Int == 3)
        #expect(record["n"] as? Int64 == 3)
        #expect(record["n"] as? Int32 == 3)
        #expect(record["n"] as? UInt8 == 3)
        #expect(record["n"] as? Double == 3)
        #expect((record["n"] as? NSNumber)?.intValue == 3)
        #expect(record["n"] as? Bool == nil)
        #expect(record["n"] as? String == nil)
        let typed: Int? = record["n"]
        #expect(typed == 3)
        let wide: Int64? = record["n"]
        #expect(wide == 3)
    }

    @Test func `booleans are numbers`() {
        let record = CKRecord(recordType: "T")
        record["b"] = true
        #expect(record["b"] as? Bool == true)
        #expect(record["b"] as? Int == 1)
        record["b"] = NSNumber(value: 1)
        #expect(record["b"] as? Bool == true)
    }

    @Test func `strings, dates and data are read back in both spellings`() {
        let record = CKRecord(recordType: "T")
        record["s"] = "abc"
        #expect(record["s"] as? String == "abc")
        #expect(record["s"] as? NSString == "abc")
        #expect(record["s"] is String)
        switch record["s"] {
        case let text as String: #expect(text == "abc")
        default: Issue.record("not a string")
        }
        let date = Date(timeIntervalSince1970: 12.5)
        record["d"] = date
        #expect(record["d"] as? Date == date)
        #expect(record["d"] as? NSDate == date as NSDate)
        record["x"] = Data([1, 2])
        #expect(record["x"] as? Data == Data([1, 2]))
        #expect(record["x"] as? NSData == Data([1, 2]) as NSData)
    }

    @Test func `lists are read back in every element type`() {
        let record = CKRecord(recordType: "T")
        record["l"] = ["a", "b"]
        #expect(record["l"] as? [String] == ["a", "b"])
        #expect((record["l"] as? NSArray)?.count == 2)
        #expect((record["l"] as? [Any])?.count == 2)
        #expect((record["l"] as? [CKRecordValue])?.count == 2)
        record["i"] = [1, 2]
        #expect(record["i"] as? [Int] == [1, 2])
        #expect(record["i"] as? [Int64] == [1, 2])
        #expect((record["i"] as? [NSNumber])?.map(\.intValue) == [1, 2])
        record["n"] = ["x"] as NSArray
        #expect(record["n"] as? [String] == ["x"])
        let typed: [String]? = record["l"]
        #expect(typed == ["a", "b"])
    }

    @Test func `values are taken in every spelling that apps use`() {
        let record = CKRecord(recordType: "T")
        record["a"] = "x" as CKRecordValue
        record["b"] = 3 as NSNumber
        record["c"] = "x" as NSString
        record.setObject("y" as NSString, forKey: "d")
        record.setObject(5 as CKRecordValue, forKey: "e")
        record.setValue("z", forKey: "f")
        record.setValuesForKeys(["g": 1, "h": "two", "i": NSNull()])
        let optional: String? = "o"
        record["j"] = optional
        record.setValue(optional as Any, forKey: "k")
        let values: [String: CKRecordValue] = ["m": 1 as CKRecordValue, "n": "s" as CKRecordValue]
        for (key, value) in values { record[key] = value }
        let object: (any __CKRecordObjCValue)? = record["c"]
        #expect(object?.isEqual("x" as NSString) == true)
        #expect(record.allKeys() == ["a", "b", "c", "d", "e", "f", "g", "h", "j", "k", "m", "n"])
        #expect(record.object(forKey: "d") as? String == "y")
        #expect(record["k"] as? String == "o")
    }

    @Test func `a mutable object is copied when it is set`() {
        let record = CKRecord(recordType: "T")
        let text = NSMutableString(string: "a")
        record["t"] = text
        text.append("b")
        #expect(record["t"] as? String == "a")
        let list = NSMutableArray(array: ["a"])
        record["l"] = list
        list.add("b")
        #expect(record["l"] as? [String] == ["a"])
        let data = NSMutableData(data: Data([1]))
        record["d"] = data
        data.append(Data([2]))
        #expect(record["d"] as? Data == Data([1]))
    }

    @Test func `references, locations and assets are kept as they are`() {
        let record = CKRecord(recordType: "T")
        let reference = CKRecord.Reference(recordID: CKRecord.ID(recordName: "r"), action: .deleteSelf)
        let place = CLLocation(latitude: 1, longitude: 2)
        let asset = CKAsset(fileURL: URL(fileURLWithPath: "/nowhere/file"))
        record["r"] = reference
        record["p"] = place
        record["a"] = asset
        record["rs"] = [reference]
        #expect(record["r"] as? CKRecord.Reference === reference)
        #expect(record["p"] as? CLLocation === place)
        #expect((record["a"] as? CKAsset)?.fileURL == asset.fileURL)
        #expect((record["rs"] as? [CKRecord.Reference])?.first === reference)
    }

    @Test func `a record is a sequence of its fields`() {
        let record = CKRecord(recordType: "T")
        record["a"] = 1
        record["b"] = "x"
        var seen: [String] = []
        for (key, value) in record {
            seen.append(key)
            #expect(record[key] as? NSObject == value as? NSObject)
        }
        #expect(seen == ["a", "b"])
        #expect(record.map(\.0) == ["a", "b"])
    }

    @Test func `key-value coding reads fields and attributes`() {
        let zone = CKRecordZone.ID(zoneName: "z")
        let record = CKRecord(recordType: "T", recordID: CKRecord.ID(recordName: "r", zoneID: zone))
        record["name"] = "n"
        #expect(record.value(forKey: "name") as? String == "n")
        #expect(record.value(forKey: "nothing") == nil)
        #expect(record.value(forKey: "recordType") as? String == "T")
        #expect(record.value(forKeyPath: "recordID.recordName") as? String == "r")
        #expect(record.value(forKeyPath: "recordID.zoneID.zoneName") as? String == "z")
        let values = record.dictionaryWithValues(forKeys: ["name", "nothing"])
        #expect(values["name"] as? String == "n")
        #expect(values["nothing"] is NSNull)
    }

    @Test func `tokens are the words of the record's strings`() {
        let record = CKRecord(recordType: "T")
        record["a"] = "Hello, wide world"
        record["b"] = "hello again"
        record["c"] = 3
        #expect(record.allTokens() == ["again", "hello", "wide", "world"])
    }

    // MARK: Encrypted values

    @Test func `B-ENC-05 encrypted values are apart from the others`() {
        let record = CKRecord(recordType: "T")
        record.encryptedValues["secret"] = "s"
        record.encryptedValues["number"] = 5
        #expect(record.encryptedValues["secret"] as? String == "s")
        let typed: Int? = record.encryptedValues["number"]
        #expect(typed == 5)
        #expect(record["secret"] == nil)
        #expect(record.allKeys().isEmpty)
        #expect(record.encryptedValues.allKeys() == ["number", "secret"])
        #expect(record.encryptedValues.changedKeys() == ["number", "secret"])
        record.encryptedValues["number"] = nil
        #expect(record.encryptedValues.allKeys() == ["secret"])
    }

    // MARK: Parent

    @Test func `B-REF-04 a parent with an action ends the process, as Apple's framework raises an exception`() async {
        await #expect(processExitsWith: .failure) {
            CKRecord(recordType: "T").parent = CKRecord.Reference(recordID: CKRecord.ID(), action: .deleteSelf)
        }
        await #expect(processExitsWith: .success) {
            CKRecord(recordType: "T").parent = CKRecord.Reference(recordID: CKRecord.ID(), action: .none)
        }
    }

    @Test func `setting a parent by record or identifier makes a reference without action`() {
        let record = CKRecord(recordType: "T")
        let parent = CKRecord(recordType: "T")
        record.setParent(parent)
        #expect(record.parent?.recordID == parent.recordID)
        #expect(record.parent?.action == CKRecord.ReferenceAction.none)
        record.setParent(nil as CKRecord?)
        #expect(record.parent == nil)
        record.setParent(parent.recordID)
        #expect(record.parent?.recordID == parent.recordID)
    }

    @Test func `misuse for which Apple's framework raises an exception ends the process`() async {
        await #expect(processExitsWith: .failure) { _ = CKRecord.ID(recordName: "") }
        await #expect(processExitsWith: .failure) { _ = CKRecordZone.ID(zoneName: "") }
        await #expect(processExitsWith: .failure) { _ = CKRecord(recordType: "") }
        await #expect(processExitsWith: .failure) { CKRecord(recordType: "T")[""] = 1 }
        await #expect(processExitsWith: .failure) {
            CKRecord(recordType: "T").setValue(URL(fileURLWithPath: "/"), forKey: "a")
        }
        await #expect(processExitsWith: .failure) {
            let zone = CKRecordZone.ID(zoneName: "other")
            CKRecord(recordType: "T").setParent(CKRecord.ID(recordName: "p", zoneID: zone))
        }
    }

    // MARK: Copies

    @Test func `a copy lives on its own`() throws {
        let record = CKRecord(recordType: "T")
        record["a"] = 1
        record.encryptedValues["e"] = 1
        let copy = try #require(record.copy() as? CKRecord)
        copy["a"] = 2
        copy.encryptedValues["e"] = 2
        #expect(record["a"] as? Int == 1)
        #expect(record.encryptedValues["e"] as? Int == 1)
        #expect(copy.recordID == record.recordID)
        #expect(copy.changedKeys() == ["a"])
    }

    @Test func `descriptions hold names and no values`() {
        let record = CKRecord(recordType: "T", recordID: CKRecord.ID(recordName: "r"))
        record["a"] = "secret"
        #expect(record.description.contains("recordID=r:(_defaultZone:__defaultOwner__)"))
        #expect(!record.description.contains("secret"))
        #expect(record.recordID.description.contains("recordName=r, zoneID=_defaultZone:__defaultOwner__"))
    }

    @Test func `constants have Apple's values`() {
        #expect(CKRecord.SystemType.userRecord == "Users")
        #expect(CKRecord.SystemType.share == "cloudkit.share")
        #expect(CKRecord.SystemFieldKey.parent == "___parent")
        #expect(CKRecord.SystemFieldKey.creationDate == "___createTime")
        #expect(CKRecordZone.ID.defaultZoneName == "_defaultZone")
        #expect(CKCurrentUserDefaultName == "__defaultOwner__")
        #expect(CKRecordNameZoneWideShare == "cloudkit.zoneshare")
    }

    @Test func `A record takes changes from many tasks at once and loses none`() async {
        let record = CKRecord(recordType: "Note")
        await withTaskGroup { group in
            for number in 0..<50 {
                group.addTask {
                    record["plain\(number)"] = number
                    record.encryptedValues["secret\(number)"] = number
                    _ = record.copy()
                }
            }
        }
        #expect(record.allKeys().count == 50)
        #expect(record.changedKeys().count == 50)
        #expect(record.encryptedValues.allKeys().count == 50)
    }

    @Test func `Records and shares cross from an actor to another, alone and inside of values`() async {
        struct Note: Sendable {
            let record: CKRecord
            let share: CKShare
        }
        let record = CKRecord(recordType: "Note")
        let note = Note(record: record, share: CKShare(rootRecord: record))
        let title = await Task { @MainActor in
            note.record["title"] = "Milk"
            return note.share.recordID
        }.value
        #expect(record["title"] == "Milk")
        #expect(record.share?.recordID == title)
    }

    @Test func `A subclass returns the server's metadata`() {
        final class Known: CKRecord, @unchecked Sendable {
            override var creationDate: Date? { Date(timeIntervalSince1970: 1) }
            override var modificationDate: Date? { Date(timeIntervalSince1970: 2) }
            override var recordChangeTag: String? { self["tag"] }
            override var creatorUserRecordID: CKRecord.ID? { CKRecord.ID(recordName: "_ada") }
            override var share: CKRecord.Reference? { CKRecord.Reference(recordID: recordID, action: .none) }
            override subscript(key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)? {
                get { super[key] }
                set { super[key] = newValue }
            }
        }
        let known: CKRecord = Known(recordType: "Note")
        known["tag"] = "1"
        #expect(known.recordChangeTag == "1" && known.creatorUserRecordID?.recordName == "_ada")
        #expect(known.creationDate.map { $0 < known.modificationDate ?? .distantPast } == true)
        #expect(known.share?.recordID == known.recordID)
    }
}

/// Returns a record after `encodeSystemFields` and decoding.
func decodedSystemFields(of record: CKRecord) throws -> CKRecord {
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    record.encodeSystemFields(with: archiver)
    archiver.finishEncoding()
    let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
    unarchiver.requiresSecureCoding = true
    return try #require(CKRecord(coder: unarchiver))
}

/// Returns an object after archiving and unarchiving.
func archivedAndBack<Object: NSObject & NSCoding>(_ object: Object) throws -> Object {
    let data = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: false)
    return try #require(try NSKeyedUnarchiver.unarchiveTopLevelObjectWithData(data) as? Object)
}
