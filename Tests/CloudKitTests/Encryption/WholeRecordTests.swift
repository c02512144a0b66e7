import CloudKitEncryption
import CloudKitModel
import CloudKitWire
import Foundation
import Testing

@testable import CloudKit
@testable import CloudKitClient
@testable import ScriptedCloud

/// A cloud that returns a record whose parts are honest, each by itself, but were never a version of it together.
@Suite(.timeLimit(.minutes(20))) struct WholeRecordTests {
    private static let zoneID = CKRecordZone.ID(zoneName: "Z")

    private static func container(_ transport: ScriptedTransport) -> CKContainer {
        .scripted(transport, account: ScriptedAccount(secret: SampleKeys.secret))
    }

    private let id = CKRecord.ID(recordName: "a", zoneID: Self.zoneID)

    /// Two versions of a record.
    private func versions(below parent: String? = "p") throws -> (old: Record, new: Record) {
        let old = try SampleKeys.record("a", ["x": .string("one"), "y": .string("two")], parent: parent)
        let new = try SampleKeys.record(
            "a", ["x": .string("three"), "y": .string("four")], parent: parent, version: 2, after: old)
        return (old, new)
    }

    enum Trick: String, CaseIterable, CustomTestStringConvertible {
        case olderField, removedField, allFieldsRemoved, addedField, plainInstead, olderStatement, noStatement
        case noParent, otherParent, otherType, otherCreation, otherCreator, otherList

        var testDescription: String { rawValue }

        var reason: String {
            switch self {
            case .olderField: "the encrypted field 'x' is of another version"
            case .removedField: "the encrypted field 'y' is missing"
            case .allFieldsRemoved, .plainInstead: "the encrypted field 'x' is missing"
            case .addedField: "the encrypted field 'z' is not part of this version"
            case .olderStatement: "the encrypted field 'x' is of another version"
            case .noStatement: "the statement is missing"
            case .otherType: "encrypted field"
            case .otherCreation: "its creation date was changed"
            case .otherList: "is malformed: its values are not in order"
            case .noParent, .otherParent, .otherCreator: "its type, parent or creator"
            }
        }

        func play(_ old: Record, _ new: Record) throws -> Record {
            var record = new
            switch self {
            case .olderField: record.fields[0] = old.fields[0]
            case .removedField: record.fields.removeLast()
            case .allFieldsRemoved: record.fields = []
            case .addedField:
                record.fields.append(
                    try SampleKeys.record("a", ["z": .string("five")], parent: "p").fields[0])
            case .plainInstead:
                record.fields = try [
                    Field(name: "x", value: .string("three")), Field(name: "y", value: .string("four")),
                ]
            case .olderStatement: record.protection?.statement = try #require(old.protection).statement
            case .noStatement: record.protection?.statement = []
            case .noParent: record.parent = nil
            case .otherParent: record.parent = "q"
            case .otherType: record.recordType = "Task"
            case .otherCreation: record.created.timestamp += 1
            case .otherCreator: record.created.user = UserID("_eve")
            case .otherList:
                // Both values are listed under the name of the second.
                record.protection?.statement[37] = UInt8(ascii: "y")
            }
            return record
        }
    }

    @Test(arguments: Trick.allCases)
    func `B-TM-04 a record whose parts are not of one version is an error as a whole`(trick: Trick) async throws {
        let (old, new) = try versions()
        let served = try trick.play(old, new)
        func check(_ result: Result<CKRecord, any Error>?) {
            let error = #expect(throws: CKError.self) { _ = try result?.get() }
            #expect(error?.code == .internalError)
            #expect(
                error?.localizedDescription.contains(trick.reason) == true,
                "\(String(describing: error))")
        }
        let lookup = Self.container(ScriptedTransport { _ in .records([.record(served)]) }).privateCloudDatabase
        check(try await lookup.records(for: [id])[id])
        let page = QueryPage(records: [served])
        let search = Self.container(ScriptedTransport { _ in .query(page) }).privateCloudDatabase
        check(
            try await search.records(matching: CKQuery(recordType: "Note", predicate: .init(value: true)))
                .matchResults[0].1)
        let changes = ZoneChangesPage(
            zoneID: ZoneID(zoneName: "Z"), events: [.changed(served)], syncToken: "t", moreComing: false)
        let feed = Self.container(ScriptedTransport { _ in .changes(.page(changes)) }).privateCloudDatabase
        check(
            try await feed.recordZoneChanges(inZoneWith: Self.zoneID, since: nil).modificationResultsByID[id]?
                .map(\.record))
    }

    @Test func `B-REC-08 fields that were not asked for may be missing, others are compared`() async throws {
        let (old, new) = try versions()
        var part = new
        part.fields.removeLast()
        var mixed = part
        mixed.fields[0] = old.fields[0]
        func fetch(_ desiredKeys: [String]?, _ served: Record) async throws -> Result<CKRecord, any Error>? {
            let transport = ScriptedTransport { _ in .records([.record(served)]) }
            return try await Self.container(transport).privateCloudDatabase.records(
                for: [id], desiredKeys: desiredKeys)[id]
        }
        let record = try await fetch(["x"], part)?.get()
        #expect(record?.encryptedValues["x"] as? String == "three")
        let whole = try await fetch(nil, new)?.get()
        #expect(whole?.encryptedValues["y"] as? String == "four")
        let refused = try await fetch(["x"], mixed)
        #expect(throws: CKError.self) { _ = try refused?.get() }
        let missing = try await fetch(["y"], part)
        let error = #expect(throws: CKError.self) { _ = try missing?.get() }
        #expect(error?.localizedDescription.contains("'y' is missing") == true)
    }

    @Test func `B-ENC-07 a save of one field states the others as they were stated`() async throws {
        let (_, new) = try versions(below: nil)
        var served = new
        served.fields.removeLast()
        let part = served
        let transport = ScriptedTransport({ _ in .records([.record(part)]) }, ScriptedTransport.savesAll)
        let database = Self.container(transport).privateCloudDatabase
        let record = try #require(try await database.records(for: [id], desiredKeys: ["x"])[id]?.get())
        record.encryptedValues["x"] = "five"
        _ = try? await database.modifyRecords(saving: [record], deleting: [])
        let sent = try #require(try transport.requests.last?.modification().operations.first)
        let before = try RecordStatement(#require(new.protection).statement)
        let statement = try RecordStatement(#require(sent.change.protection).statement)
        #expect(statement.version == 3 && statement.previousTag == before.tag)
        #expect(statement.values.map(\.name) == ["x", "y"])
        #expect(statement.values[0] != before.values[0] && statement.values[1] == before.values[1])
        #expect(statement.created == new.created.timestamp)
    }

    @Test func `B-ENC-07 removing a value makes a statement`() async throws {
        let (_, new) = try versions(below: nil)
        let transport = ScriptedTransport(
            { _ in .records([.record(new)]) }, ScriptedTransport.savesAll)
        let database = Self.container(transport).privateCloudDatabase
        let record = try #require(try await database.records(for: [id])[id]?.get())
        record.encryptedValues["x"] = nil
        _ = try? await database.modifyRecords(saving: [record], deleting: [])
        let removal = try #require(try transport.requests.last?.modification().operations.first)
        #expect(try RecordStatement(#require(removal.change.protection).statement).values.map(\.name) == ["y"])
    }

    // MARK: Earlier states

    /// Fetches the record from a cloud that shows these states one after the other; returns the last result.
    private func fetch(_ served: [Record]) async throws -> Result<CKRecord, any Error>? {
        let (first, last) = (served[0], served[served.count - 1])
        let transport = ScriptedTransport({ _ in .records([.record(first)]) }, { _ in .records([.record(last)]) })
        let database = Self.container(transport).privateCloudDatabase
        for _ in served.dropLast() { _ = try await database.records(for: [id]) }
        return try await database.records(for: [id])[id]
    }

    @Test func `B-TM-13 a device that has seen a version refuses an older one, another one and none`() async throws {
        let (old, new) = try versions()
        let branch = try SampleKeys.record("a", ["x": .string("b")], parent: "p", version: 2, after: old)
        var stripped = new
        stripped.fields = try [Field(name: "x", value: .string("plain"))]
        stripped.protection = nil
        let cases: [([Record], String?)] = [
            ([old, new], nil), ([new, new], nil), ([new, old], "went back in time: it shows an older version"),
            ([new, branch], "went back in time: it shows another record"),
            ([new, stripped], "the statement is missing"), ([stripped], nil),
        ]
        for (served, reason) in cases {
            let result = try await fetch(served)
            guard let reason else {
                #expect(try result?.get() != nil)
                continue
            }
            let error = #expect(throws: CKError.self) { _ = try result?.get() }
            #expect(error?.localizedDescription.contains(reason) == true, "\(String(describing: error))")
        }
    }

    @Test func `B-TM-13 a record that is created again has a version above all that it had, whatever the clock says`()
        async throws
    {
        // Of a device whose clock is some centuries ahead.
        let version: UInt64 = 9_000_000_000_000
        let seen = try SampleKeys.record("a", ["x": .string("one")], version: version)
        let deleted = ZoneChangesPage(
            zoneID: ZoneID(zoneName: "Z"), events: [.deleted(RecordTombstone(recordName: "a"))], syncToken: "t",
            moreComing: false)
        let transport = ScriptedTransport(
            { _ in .records([.record(seen)]) }, { _ in .changes(.page(deleted)) }, ScriptedTransport.savesAll)
        let database = Self.container(transport).privateCloudDatabase
        _ = try await database.records(for: [id])
        _ = try await database.recordZoneChanges(inZoneWith: Self.zoneID, since: nil)
        let again = CKRecord(recordType: "Note", recordID: id)
        again.encryptedValues["x"] = "two"
        _ = try await database.save(again)
        let sent = try #require(transport.requests.last).modification().operations.first?.change.protection
        let statement = try RecordStatement(try #require(sent).statement)
        #expect(statement.version == version + 1)
    }

    @Test func `B-TM-13 a record that was deleted may begin again`() async throws {
        let (old, new) = try versions()
        let deleted = ZoneChangesPage(
            zoneID: ZoneID(zoneName: "Z"), events: [.deleted(RecordTombstone(recordName: "a"))], syncToken: "t",
            moreComing: false)
        let transport = ScriptedTransport(
            { _ in .records([.record(new)]) }, { _ in .changes(.page(deleted)) }, { _ in .records([.record(old)]) })
        let database = Self.container(transport).privateCloudDatabase
        _ = try await database.records(for: [id])
        _ = try await database.recordZoneChanges(inZoneWith: Self.zoneID, since: nil)
        #expect(try await database.records(for: [id])[id]?.get() != nil)
    }
}
