import CloudKitEncryption
import CloudKitModel
import CloudKitWire
import Foundation
import Synchronization
import Testing

@testable import CloudKit
@testable import CloudKitClient
@testable import ScriptedCloud

/// A cloud that returns other data than was saved: any change within a record is detected and reported.
@Suite(.timeLimit(.minutes(20))) struct TamperingTests {
    private static let zoneID = CKRecordZone.ID(zoneName: "Z")

    private static func container(_ transport: ScriptedTransport) -> CKContainer {
        .scripted(transport, account: ScriptedAccount(secret: SampleKeys.secret))
    }

    private func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: Self.zoneID) }

    /// Two honest records.
    private func honest() throws -> [Record] {
        try [
            SampleKeys.record("a", ["x": .string("one"), "y": .string("two")]),
            SampleKeys.record("b", ["x": .string("three"), "y": .string("four")]),
        ]
    }

    enum Trick: String, CaseIterable, CustomTestStringConvertible {
        case swapFields, swapRecords, swapZones, otherEpoch, epochOfRecord, truncate, flipBit, notSealed, noProtection
        case otherType, mixKeys, garbageKeys

        var testDescription: String { rawValue }

        /// Changes the first record of an answer.
        func play(_ records: [Record]) throws -> [Record] {
            var first = records[0]
            switch self {
            case .swapFields:
                (first.fields[0].json, first.fields[1].json) = (first.fields[1].json, first.fields[0].json)
            case .swapRecords: first.fields = records[1].fields
            case .swapZones: first.fields = try SampleKeys.record("a", ["x": .int64(1)], in: "Y").fields
            case .otherEpoch:
                first.fields[0] = try SampleKeys.record("a", ["x": .string("old")], epoch: 1).fields[0]
            case .epochOfRecord: first.protection?.epoch = 1
            case .truncate: first.fields[0] = try cut(first.fields[0]) { Array($0.dropLast()) }
            case .flipBit:
                first.fields[0] = try cut(first.fields[0]) { bytes in
                    var bytes = bytes
                    bytes[bytes.count - 1] ^= 1
                    return bytes
                }
            case .notSealed: first.fields[0].json = Array(#""one""#.utf8)
            case .noProtection: first.protection = nil
            case .otherType: first.fields[0].type.base = .bytes
            case .mixKeys:
                let place = RecordAddress(zone: SampleKeys.zone().place, name: "a")
                first.protection?.keys = RecordProtection(of: RecordKey(madeFor: place, epoch: 0)).keys
            case .garbageKeys: first.protection?.keys = [1, 2, 3]
            }
            return [first] + records.dropFirst()
        }

        private func cut(_ field: Field, _ change: ([UInt8]) -> [UInt8]) throws -> Field {
            Field(name: field.name, type: field.type, sealed: change(try #require(field.sealed)))
        }
    }

    @Test(arguments: Trick.allCases)
    func `B-TM-04 a value that the cloud moves, mixes or cuts is an error of its record alone`(
        trick: Trick
    ) async throws {
        let served = try trick.play(honest())
        let records = served.map { RecordOutcome.record($0) }

        let lookup = Self.container(ScriptedTransport { _ in .records(records) }).privateCloudDatabase
        let fetched = try await lookup.records(for: [id("a"), id("b")])
        check(fetched[id("a")], fetched[id("b")])

        let page = QueryPage(records: served)
        let search = Self.container(ScriptedTransport { _ in .query(page) }).privateCloudDatabase
        let found = try await search.records(matching: CKQuery(recordType: "Note", predicate: .init(value: true)))
        check(found.matchResults[0].1, found.matchResults[1].1)

        let changes = ZoneChangesPage(
            zoneID: ZoneID(zoneName: "Z"), events: served.map { .changed($0) }, syncToken: "t", moreComing: false)
        let feed = Self.container(ScriptedTransport { _ in .changes(.page(changes)) }).privateCloudDatabase
        let changed = try await feed.recordZoneChanges(inZoneWith: Self.zoneID, since: nil)
        check(
            changed.modificationResultsByID[id("a")]?.map(\.record),
            changed.modificationResultsByID[id("b")]?.map(\.record))

        // The answer of a save, and the record of a conflict.
        let record = CKRecord(recordType: "Note", recordID: id("a"))
        record["t"] = 1
        let save = Self.container(ScriptedTransport { _ in .records([records[0]]) }).privateCloudDatabase
        let saved = await #expect(throws: CKError.self) { _ = try await save.save(record) }
        #expect(saved?.isAboutSealing == true)
        let refusal = RequestFailure(.conflict, "client oplock error updating record", serverRecord: served[0])
        let meet = Self.container(ScriptedTransport { _ in .records([.failed(recordName: "a", refusal)]) })
        let conflict = await #expect(throws: CKError.self) { _ = try await meet.privateCloudDatabase.save(record) }
        #expect(conflict?.isAboutSealing == true)
    }

    private func check(
        _ tampered: Result<CKRecord, any Error>?, _ other: Result<CKRecord, any Error>?,
        at location: SourceLocation = #_sourceLocation
    ) {
        let error = #expect(throws: CKError.self, sourceLocation: location) { _ = try tampered?.get() }
        #expect(error?.isAboutSealing == true, "\(String(describing: error))", sourceLocation: location)
        #expect((try? other?.get().encryptedValues["x"]) as? String == "three", sourceLocation: location)
    }

    @Test func `B-TM-05 a zone whose epoch decreased is refused`() async throws {
        let epochs = EpochStore()
        @Sendable func answer(_ epoch: UInt32) -> TransportResponse {
            .zones([.zone(Zone(id: ZoneID(zoneName: "Z"), capabilities: .custom, syncToken: "t", keyEpoch: epoch))])
        }
        let transport = ScriptedTransport({ _ in answer(3) }, { _ in answer(2) }, { _ in answer(3) })
        let database = CKContainer.scripted(
            transport, account: ScriptedAccount(secret: SampleKeys.secret), epochs: epochs
        ).privateCloudDatabase
        _ = try await database.recordZone(for: Self.zoneID)
        let error = await #expect(throws: CKError.self) { _ = try await database.recordZone(for: Self.zoneID) }
        #expect(error?.code == .internalError)
        #expect(error?.localizedDescription.contains("went back in time") == true)
        _ = try await database.recordZone(for: Self.zoneID)
        #expect(try epochs.epoch(of: SampleKeys.zone().place) == 3)
    }

    @Test func `B-TM-05 an answer that another one has overtaken is no decreased epoch`() async throws {
        let epochs = EpochStore()
        let asking = Mutex<CKDatabase?>(nil)
        @Sendable func answer(_ epoch: UInt32) -> TransportResponse {
            .zones([.zone(Zone(id: ZoneID(zoneName: "Z"), capabilities: .custom, syncToken: "t", keyEpoch: epoch))])
        }
        let transport = ScriptedTransport(
            { _ in
                // The second request is answered first.
                _ = try await asking.withLock { $0 }?.recordZone(for: Self.zoneID)
                return answer(2)
            }, { _ in answer(3) }, { _ in answer(2) })
        let database = CKContainer.scripted(
            transport, account: ScriptedAccount(secret: SampleKeys.secret), epochs: epochs
        ).privateCloudDatabase
        asking.withLock { $0 = database }
        _ = try await database.recordZone(for: Self.zoneID)
        asking.withLock { $0 = nil }
        #expect(try epochs.epoch(of: SampleKeys.zone().place) == 3)
        let error = await #expect(throws: CKError.self) { _ = try await database.recordZone(for: Self.zoneID) }
        #expect(error?.code == .internalError)
    }

    @Test func `saved values are sealed before they leave, under the epoch that opened last`() async throws {
        let transport = ScriptedTransport(
            { _ in .records([.record(try SampleKeys.record("a", ["x": .string("canary-1")], epoch: 4))]) },
            ScriptedTransport.savesAll)
        let database = Self.container(transport).privateCloudDatabase
        let record = try await database.record(for: id("a"))
        #expect(record.encryptedValues["x"] as? String == "canary-1")
        record.encryptedValues["x"] = "canary-2"
        let fresh = CKRecord(recordType: "Note", recordID: id("b"))
        fresh.encryptedValues["x"] = "canary-3"
        let (results, _) = try await database.modifyRecords(saving: [record, fresh], deleting: [])
        #expect(results.count == 2)
        let sent = try #require(transport.requests.last)
        #expect(!String(decoding: sent.body, as: UTF8.self).contains("canary"))
        let operations = try sent.modification().operations
        #expect(operations.map(\.change.protection?.epoch) == [4, 4])
        for operation in operations {
            for case .set(let field) in operation.change.fields { #expect(field.sealedEpoch == 4) }
        }
    }

    @Test func `saves without encrypted values cost nothing`() async throws {
        let transport = ScriptedTransport(ScriptedTransport.savesAll)
        let database = Self.container(transport).privateCloudDatabase
        let record = CKRecord(recordType: "Note", recordID: id("a"))
        record["t"] = 1
        try await database.save(record)
        #expect(transport.requests.count == 1)
        #expect(try transport.requests[0].modification().operations[0].change.protection == nil)
    }
}

extension CKError {
    /// A Boolean value that indicates whether the error says that a sealed value does not open.
    fileprivate var isAboutSealing: Bool {
        (code == .internalError || code == .accountTemporarilyUnavailable)
            && ["encrypted field", "protection", "key of record"].contains { localizedDescription.contains($0) }
    }
}
