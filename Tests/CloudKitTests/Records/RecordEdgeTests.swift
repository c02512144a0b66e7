import CloudKitModel
import SeededChance
import Testing

@testable import CloudKit
@testable import CloudKitClient

@Suite(.timeLimit(.minutes(20))) struct RecordEdgeTests {
    private let zone = CKRecordZone.ID(zoneName: "z")
    private func fresh() -> CKRecord {
        CKRecord(recordType: "T", recordID: CKRecord.ID(recordName: "r", zoneID: zone))
    }

    private func value(_ record: CKRecord, _ key: String) throws -> FieldValue? {
        for case .set(let field) in try record.fieldChanges(allKeys: false) where field.name == key {
            return try field.value()
        }
        return nil
    }

    // MARK: Values

    @Test func `B-REC-01 values become the types of the wire`() throws {
        let record = fresh()
        record["string"] = "s"
        record["int"] = Int8(-3)
        record["unsigned"] = UInt64(7)
        record["double"] = 2.0
        record["float"] = Float(0.5)
        record["bool"] = true
        record["date"] = Date(timeIntervalSince1970: 1.2345)
        record["data"] = Data([1, 2])
        record["strings"] = ["a", "b"]
        record["none"] = [] as [String]
        record["mixed"] = [1, 2.5] as NSArray
        #expect(try value(record, "string") == .string("s"))
        #expect(try value(record, "int") == .int64(-3))
        #expect(try value(record, "unsigned") == .int64(7))
        #expect(try value(record, "double") == .double(2))
        #expect(try value(record, "float") == .double(0.5))
        #expect(try value(record, "bool") == .int64(1))
        #expect(try value(record, "date") == .timestamp(1235))
        #expect(try value(record, "data") == .bytes([1, 2]))
        #expect(try value(record, "strings") == .list(.string, [.string("a"), .string("b")]))
        #expect(try value(record, "mixed") == .list(.double, [.double(1), .double(2.5)]))
        let changes = try record.fieldChanges(allKeys: false)
        let none = changes.first { $0.name == "none" }
        guard case .set(let field)? = none else { throw Missing() }
        #expect(field.isEmptyList)
    }

    private struct Missing: Error {}

    @Test func `a number set as NSNumber keeps its kind`() throws {
        let record = fresh()
        record["whole"] = NSNumber(value: 3)
        record["double"] = NSNumber(value: 3.0)
        record["float"] = NSNumber(value: Float(3))
        record["bool"] = NSNumber(value: false)
        #expect(try value(record, "whole") == .int64(3))
        #expect(try value(record, "double") == .double(3))
        #expect(try value(record, "float") == .double(3))
        #expect(try value(record, "bool") == .int64(0))
    }

    @Test func `B-REF-01 references are sent with their zone only when it is another`() throws {
        let record = fresh()
        record["near"] = CKRecord.Reference(recordID: CKRecord.ID(recordName: "x", zoneID: zone), action: .deleteSelf)
        record["far"] = CKRecord.Reference(recordID: CKRecord.ID(recordName: "x"), action: .none)
        #expect(try value(record, "near") == .reference(ReferenceValue(recordName: "x", action: .deleteSelf)))
        #expect(try value(record, "far") == .reference(ReferenceValue(recordName: "x", zoneID: .default)))
    }

    @Test func `locations are sent with everything known`() throws {
        let record = fresh()
        record["p"] = CLLocation(
            coordinate: CLLocationCoordinate2D(latitude: 1, longitude: 2), altitude: 3, horizontalAccuracy: 4,
            verticalAccuracy: 5, course: 6, speed: 7, timestamp: Date(timeIntervalSince1970: 8))
        #expect(
            try value(record, "p")
                == .location(
                    LocationValue(
                        latitude: 1, longitude: 2, horizontalAccuracy: 4, verticalAccuracy: 5, altitude: 3, speed: 7,
                        course: 6, timestamp: 8000)))
    }

    @Test(
        arguments: [
            Double.nan as any CKRecordValueProtocol, Double.infinity, UInt64.max,
            Date(timeIntervalSince1970: .infinity),
            Date(timeIntervalSince1970: 1e300), CLLocation(latitude: .nan, longitude: 0), ["a", 1] as NSArray,
            [["a"]] as NSArray, [URL(fileURLWithPath: "/")] as NSArray,
        ].map(Unsendable.init))
    private func `values that no field can hold are refused when the record is saved`(_ value: Unsendable) throws {
        let record = fresh()
        record["v"] = value.value
        let error = #expect(throws: CKError.self) { try record.fieldChanges(allKeys: false) }
        #expect(error?.code == .invalidArguments)
        #expect(error?.localizedDescription.contains("'v'") == true)
    }

    /// Test arguments have to be Sendable; these are passed once, before anything runs.
    private struct Unsendable: Sendable {
        nonisolated(unsafe) let value: any CKRecordValueProtocol
        init(_ value: any CKRecordValueProtocol) { self.value = value }
    }

    @Test func `every value comes back as it was sent`() throws {
        let values: [(String, FieldValue)] = [
            ("a", .string("ü\"\\\n")), ("b", .int64(.min)), ("c", .double(12.340000000000002)), ("d", .timestamp(-1)),
            ("e", .bytes([0, 128, 255])), ("f", .reference(ReferenceValue(recordName: "x", action: .deleteSelf))),
            ("g", .list(.timestamp, [.timestamp(5), .timestamp(6)])),
            (
                "h",
                .location(
                    LocationValue(
                        latitude: 1, longitude: 2, horizontalAccuracy: 3, verticalAccuracy: 4, altitude: 5, speed: 6,
                        course: 7, timestamp: 8))
            ),
            ("i", .list(.reference, [.reference(ReferenceValue(recordName: "y"))])),
        ]
        let record = try CKRecord(Fixture.record(fields: values))
        #expect(record.changedKeys().isEmpty)
        for change in try record.fieldChanges(allKeys: true) {
            guard case .set(let field) = change else { throw Missing() }
            #expect(try field.value() == values.first { $0.0 == field.name }?.1, "\(field.name)")
        }
        #expect((record["f"] as? CKRecord.Reference)?.recordID.zoneID == zone)
    }

    // MARK: Saving

    @Test func `B-SAV-05 a fresh record is created and a fetched one updated`() throws {
        #expect(try fresh().saveOperation(checksTag: true, allKeys: false).kind == .create)
        let fetched = try CKRecord(Fixture.record())
        let operation = try fetched.saveOperation(checksTag: true, allKeys: false)
        #expect(operation.kind == .update)
        #expect(operation.change.changeTag == ChangeTag("t1"))
        #expect(operation.change.recordType == "T")
        #expect(try fetched.saveOperation(checksTag: false, allKeys: false).kind == .forceUpdate)
    }

    @Test func `B-SAV-06 changed keys are sent, with allKeys every one and the removals`() throws {
        let record = try CKRecord(Fixture.record(fields: [("a", .int64(1)), ("b", .int64(2))]))
        record["b"] = nil
        record["c"] = 3
        let changed = try record.fieldChanges(allKeys: false)
        #expect(changed.map(\.name) == ["b", "c"])
        #expect(changed.first == .remove(name: "b"))
        #expect(try record.fieldChanges(allKeys: true).map(\.name) == ["a", "b", "c"])
    }

    @Test func `B-SAV-13 a save without changes sends no fields`() throws {
        #expect(try CKRecord(Fixture.record(fields: [("a", .int64(1))])).fieldChanges(allKeys: false).isEmpty)
    }

    @Test func `B-REF-03 the parent is sent when it changed`() throws {
        let record = try CKRecord(Fixture.record(parent: "p"))
        #expect(record.parent?.recordID.recordName == "p")
        #expect(record.parent?.recordID.zoneID == zone)
        #expect(try record.saveOperation(checksTag: true, allKeys: false).change.parent == .keep)
        #expect(try record.saveOperation(checksTag: false, allKeys: true).change.parent == .set(recordName: "p"))
        record.setParent(CKRecord.ID(recordName: "q", zoneID: zone))
        #expect(try record.saveOperation(checksTag: true, allKeys: false).change.parent == .set(recordName: "q"))
        record.parent = nil
        #expect(try record.saveOperation(checksTag: true, allKeys: false).change.parent == .remove)
    }

    @Test func `B-ENC-05 encrypted values wait apart to be sealed, by their policy`() throws {
        let record = fresh()
        record["p"] = 1
        #expect(try record.secrets(allKeys: true) == nil)
        record.encryptedValues["e"] = 1
        record.encryptedValues["gone"] = nil
        let secrets = try #require(try record.secrets(allKeys: false))
        #expect(secrets.fields.map(\.name) == ["e"] && secrets.fields.allSatisfy { !$0.type.isEncrypted })
        #expect(try record.fieldChanges(allKeys: false).map(\.name) == ["gone", "p"])
        let known = try CKRecord(
            OpenedRecord(
                Fixture.sealed(["e", "f"]),
                values: .success([Field(name: "e", value: .int64(1)), Field(name: "f", value: .int64(2))])))
        known.encryptedValues["f"] = 3
        #expect(try known.secrets(allKeys: false)?.fields.map(\.name) == ["f"])
        #expect(try known.secrets(allKeys: true)?.fields.map(\.name) == ["e", "f"])
        #expect(try known.secrets(allKeys: true)?.held == Protection(epoch: 7))
        #expect(known["e"] == nil && known.changedKeys().isEmpty)
    }

    @Test func `B-ENC-01 encrypted dates come back to the last bit`() throws {
        var chance = SplitMix64(seed: 5)
        var dates = (0..<200).map { _ in
            Date(timeIntervalSinceReferenceDate: Double.random(in: -5e10...5e10, using: &chance))
        }
        dates += [0, 0.5, 793_109_282.061, 1e-9, -0.000_1, -1e11].map { Date(timeIntervalSinceReferenceDate: $0) }
        let record = fresh()
        record.encryptedValues["list"] = dates
        for (number, date) in dates.enumerated() { record.encryptedValues["d\(number)"] = date }
        let fields = try #require(try record.secrets(allKeys: true)).fields
        #expect(fields.allSatisfy { $0.type.base == .timestamp })
        let read = try CKRecord(OpenedRecord(Fixture.sealed(fields.map(\.name)), values: .success(fields)))
        #expect(read.encryptedValues["list"] as? [Date] == dates)
        for (number, date) in dates.enumerated() {
            #expect(read.encryptedValues["d\(number)"] as? Date == date)
        }
    }

    @Test(arguments: ["99999999999999999999999999.5", "[1.5,1e300.0]", "1.x", "nan.", ".", "[1.5,]"])
    func `B-TM-12 an invalid sealed date is an error`(json: String) throws {
        let type = FieldType(.timestamp, isList: json.hasPrefix("["))
        let fields = [Field(name: "d", type: type, json: Array(json.utf8))]
        let error = #expect(throws: CKError.self) {
            try CKRecord(OpenedRecord(Fixture.sealed(["d"]), values: .success(fields)))
        }
        #expect(error?.code == .internalError)
    }

    @Test func `B-ENC-05 a name is either plain or encrypted`() {
        func refused(_ change: (CKRecord) -> Void) -> Bool {
            let record = fresh()
            change(record)
            let error = #expect(throws: CKError.self) { try record.fieldChanges(allKeys: false) }
            return error?.code == .invalidArguments && error?.localizedDescription.contains("'n'") == true
        }
        #expect(refused { ($0["n"], $0.encryptedValues["n"]) = (1, 2) })
        #expect(refused { ($0["n"], $0.encryptedValues["n"]) = (1, nil) })
        #expect(refused { ($0["n"], $0.encryptedValues["n"]) = (nil, 1) })
        let both = fresh()
        (both["n"], both.encryptedValues["n"]) = (nil, nil)
        #expect(throws: Never.self) { try both.fieldChanges(allKeys: false) }
    }

    @Test func `a sealed record that did not open never becomes one with gaps`() {
        #expect(throws: CKError.self) { try CKRecord(OpenedRecord(Fixture.sealed(["e"]))) }
    }

    @Test func `Fields of assets are sent after their files`() throws {
        let record = fresh()
        let asset = CKAsset(fileURL: URL(fileURLWithPath: "/nowhere"))
        record["f"] = asset
        record["l"] = [asset]
        #expect(record.assetFields(allKeys: false).map(\.name) == ["f", "l"])
        #expect(try record.fieldChanges(allKeys: false).isEmpty)
        record["l"] = [asset, "text"] as [any CKRecordValueProtocol] as NSArray
        let error = #expect(throws: CKError.self) { try record.fieldChanges(allKeys: false) }
        #expect(error?.code == .invalidArguments)
    }

    @Test func `B-SAV-08 assets of the server's record have no file`() throws {
        let stored = AssetValue(fileChecksum: "c", size: 3, downloadURL: "https://example.com/f")
        let record = try CKRecord(Fixture.record(fields: [("f", .asset(stored))]))
        #expect((record["f"] as? CKAsset)?.fileURL == nil)
        #expect((record["f"] as? CKAsset)?.kept?.value == stored)
    }

    // MARK: After a save

    @Test func `B-REC-07 the saved record has the new tag and no changes`() throws {
        let record = fresh()
        record["a"] = 1
        let sent = record.state
        try record.acknowledge(
            Fixture.record(fields: [("a", .int64(1)), ("server", .string("s"))], tag: "t2"), sent: sent)
        #expect(record.recordChangeTag == "t2")
        #expect(record.changedKeys().isEmpty)
        #expect(record["a"] as? Int == 1)
        #expect(record["server"] as? String == "s")
        #expect(record.modificationDate == Date(timeIntervalSince1970: 1_700_000_000.123))
        #expect(record.ancestor["a"] as? Int == 1)
    }

    @Test func `changes that the app makes while a save is under way are kept`() throws {
        let record = try CKRecord(Fixture.record(fields: [("a", .int64(1)), ("b", .int64(1))]))
        record["a"] = 2
        let sent = record.state
        record["a"] = 3
        record["b"] = 4
        record.setParent(CKRecord.ID(recordName: "p", zoneID: zone))
        try record.acknowledge(Fixture.record(fields: [("a", .int64(2)), ("b", .int64(1))], tag: "t2"), sent: sent)
        #expect(record.changedKeys() == ["a", "b"])
        #expect(record["a"] as? Int == 3)
        #expect(record["b"] as? Int == 4)
        #expect(record.ancestor["a"] as? Int == 2)
        #expect(record.ancestor["b"] as? Int == 1)
        #expect(try record.saveOperation(checksTag: true, allKeys: false).change.parent == .set(recordName: "p"))
    }

    @Test func `an answer without fields leaves the fields alone`() throws {
        let record = try CKRecord(Fixture.record(fields: [("a", .int64(1)), ("b", .int64(1))]))
        record["a"] = 2
        try record.acknowledge(Fixture.record(tag: "t2"), sent: record.state)
        #expect(record["a"] as? Int == 2)
        #expect(record["b"] as? Int == 1)
        #expect(record.changedKeys().isEmpty)
    }

    // MARK: What came from the server

    @Test func `B-USR-04 the caller is shown as the current user`() throws {
        let record = try CKRecord(Fixture.record())
        #expect(record.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
        #expect(record.lastModifiedUserRecordID?.recordName == "_other")
        #expect(record.creationDate == Date(timeIntervalSince1970: 1_600_000_000))
    }

    @Test func `a server that breaks its word does not end the process`() throws {
        var record = try Fixture.record("", zone: ZoneID(zoneName: "", owner: UserID("")), modified: .max)
        record.recordType = ""
        record.parent = ""
        #expect(try CKRecord(record).recordID.recordName == "?")
        record.fields = [Field(name: "a", type: .int64, json: Array("\"x".utf8))]
        let error = #expect(throws: CKError.self) { try CKRecord(record) }
        #expect(error?.code == .internalError)
    }
}
