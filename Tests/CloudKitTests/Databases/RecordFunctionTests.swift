import CloudKitModel
import Foundation
import ScriptedCloud
import Testing

@testable import CloudKit

@Suite(.timeLimit(.minutes(20))) struct RecordFunctionTests {
    private let zoneID = CKRecordZone.ID(zoneName: "Z", ownerName: CKCurrentUserDefaultName)

    private func record(_ name: String, in zoneID: CKRecordZone.ID? = nil) -> CKRecord {
        CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zoneID ?? self.zoneID))
    }

    @Test func `B-REC-07 a save brings the record it was given up to date`() async throws {
        let database = CKContainer.scripted(ScriptedTransport(ScriptedTransport.savesAll)).privateCloudDatabase
        let record = record("a")
        record["title"] = "x"
        let saved = try await database.save(record)
        #expect(saved.recordChangeTag == "1")
        #expect(saved["title"] as? String == "x")
        #expect(record.recordChangeTag == "1")
        #expect(record.changedKeys().isEmpty)
    }

    @Test(arguments: [
        (CKModifyRecordsOperation.RecordSavePolicy.ifServerRecordUnchanged, RecordOperation.Kind.update),
        (.changedKeys, .forceUpdate), (.allKeys, .forceUpdate),
    ])
    func `B-SAV a save policy chooses the comparison`(
        policy: CKModifyRecordsOperation.RecordSavePolicy, kind: RecordOperation.Kind
    ) async throws {
        let transport = ScriptedTransport(ScriptedTransport.findsAll, ScriptedTransport.savesAll)
        let database = CKContainer.scripted(transport).privateCloudDatabase
        let record = try await database.record(for: record("a").recordID)
        record["title"] = "x"
        record["gone"] = nil
        _ = try await database.modifyRecords(saving: [record], deleting: [], savePolicy: policy)
        let change = try #require(try transport.requests.last?.modification().operations.first)
        #expect(change.kind == kind)
        #expect(change.change.fields.contains(.remove(name: "gone")))
    }

    @Test func `B-SAV-07 a conflict holds the three records`() async throws {
        let zone = zoneID.model
        let transport = ScriptedTransport(
            ScriptedTransport.findsAll,
            { _ in
                .records([
                    .failed(
                        recordName: "a",
                        RequestFailure(
                            .conflict, "client oplock error updating record",
                            serverRecord: .stored("a", in: zone, tag: "7")))
                ])
            })
        let database = CKContainer.scripted(transport).privateCloudDatabase
        let record = try await database.record(for: record("a").recordID)
        record["title"] = "mine"
        let error = try #require(await #expect(throws: CKError.self) { _ = try await database.save(record) })
        #expect(error.code == .serverRecordChanged)
        #expect(error.serverRecord?.recordChangeTag == "7")
        #expect(error.clientRecord?["title"] as? String == "mine")
        #expect(error.ancestorRecord?.recordChangeTag == "1")
        #expect(error.ancestorRecord?["title"] == nil)
        #expect(record.recordChangeTag == "1")
        #expect(record.changedKeys() == ["title"])
    }

    private static let atomicFailure: ScriptedTransport.Answer = { _ in
        .records([
            .failed(recordName: "a", RequestFailure(.atomicFailure, "Atomic failure")),
            .failed(recordName: "b", RequestFailure(.conflict, "client oplock error updating record")),
        ])
    }

    private func codes(_ error: (any Error)?) -> [CKRecord.ID: CKError.Code] {
        let errors = (error as? CKError)?.partialErrorsByItemID ?? [:]
        return Dictionary(
            uniqueKeysWithValues: errors.compactMap { id, error in
                (id.base as? CKRecord.ID).flatMap { id in (error as? CKError).map { (id, $0.code) } }
            })
    }

    @Test func `B-BAT-05 an atomic failure is thrown with the error of each item`() async throws {
        let database = CKContainer.scripted(ScriptedTransport(Self.atomicFailure)).privateCloudDatabase
        let error = await #expect(throws: CKError.self) {
            try await database.modifyRecords(saving: [record("a")], deleting: [record("b").recordID])
        }
        #expect(error?.code == .partialFailure)
        #expect(
            codes(error) == [record("a").recordID: .batchRequestFailed, record("b").recordID: .serverRecordChanged])
    }

    @Test func `B-BAT-05 the handler of an atomic modification gets its failure`() async throws {
        let database = CKContainer.scripted(ScriptedTransport(Self.atomicFailure)).privateCloudDatabase
        let (first, second) = (record("a"), record("b").recordID)
        let error: (any Error)? = await withCheckedContinuation { continuation in
            database.modifyRecords(saving: [first], deleting: [second]) { result in
                guard case .failure(let error) = result else { return continuation.resume(returning: nil) }
                continuation.resume(returning: error)
            }
        }
        #expect((error as? CKError)?.code == .partialFailure)
        #expect(codes(error)[second] == .serverRecordChanged)
    }

    @Test func `B-BAT-05 a modification that is not atomic returns the result of each item`() async throws {
        let database = CKContainer.scripted(ScriptedTransport(Self.atomicFailure)).privateCloudDatabase
        let (saveResults, deleteResults) = try await database.modifyRecords(
            saving: [record("a")], deleting: [record("b").recordID], atomically: false)
        #expect(throws: CKError.self) { try saveResults[record("a").recordID]?.get() }
        #expect(throws: CKError.self) { try deleteResults[record("b").recordID]?.get() }
    }

    @Test func `B-BAT-04, B-BAT-05 the public database returns the result of each item`() async throws {
        let database = CKContainer.scripted(ScriptedTransport(Self.atomicFailure)).publicCloudDatabase
        let ids = ["a", "b"].map { CKRecord.ID(recordName: $0) }
        let (saveResults, deleteResults) = try await database.modifyRecords(
            saving: [CKRecord(recordType: "T", recordID: ids[0])], deleting: [ids[1]])
        #expect(throws: CKError.self) { try saveResults[ids[0]]?.get() }
        #expect(throws: CKError.self) { try deleteResults[ids[1]]?.get() }
    }

    @Test func `B-BAT-01 a failure in one zone leaves the others unaffected`() async throws {
        let transport = ScriptedTransport(
            { _ in .refusal(RequestFailure(.zoneNotFound, "Zone not found")) }, ScriptedTransport.savesAll)
        let database = CKContainer.scripted(transport).privateCloudDatabase
        let other = CKRecordZone.ID(zoneName: "Other", ownerName: CKCurrentUserDefaultName)
        let saved = record("b", in: other)
        let error = await #expect(throws: CKError.self) {
            try await database.modifyRecords(saving: [record("a"), saved], deleting: [])
        }
        #expect(codes(error) == [record("a").recordID: .zoneNotFound])
        #expect(saved.recordChangeTag != nil)
    }

    @Test func `A connection that breaks after the first zone spares the server the rest`() async throws {
        let transport = ScriptedTransport(ScriptedTransport.savesAll, ScriptedTransport.isNotThere)
        let database = CKContainer.scripted(transport).privateCloudDatabase
        let zones = ["A", "B", "C"].map { CKRecordZone.ID(zoneName: $0, ownerName: CKCurrentUserDefaultName) }
        let error = await #expect(throws: CKError.self) {
            try await database.modifyRecords(saving: zones.map { record("r", in: $0) }, deleting: [])
        }
        let found = zones.map { codes(error)[record("r", in: $0).recordID] }
        #expect(found == [nil, .networkUnavailable, .networkUnavailable])
        #expect(transport.requests.count == 2)
    }

    @Test func `B-BAT-06 a single deletion throws the error of the item`() async throws {
        let transport = ScriptedTransport { _ in
            .records([.failed(recordName: "a", RequestFailure(.accessDenied, "WRITE operation not permitted"))])
        }
        let database = CKContainer.scripted(transport).privateCloudDatabase
        let error = await #expect(throws: CKError.self) {
            _ = try await database.deleteRecord(withID: record("a").recordID)
        }
        #expect(error?.code == .permissionFailure)
    }

    @Test func `B-REC-13 a missing record is unknownItem, a missing zone zoneNotFound`() async throws {
        let transport = ScriptedTransport(
            ScriptedTransport.findsAll, { _ in .refusal(RequestFailure(.zoneNotFound, "Zone not found")) })
        let database = CKContainer.scripted(transport).privateCloudDatabase
        let first = await #expect(throws: CKError.self) {
            _ = try await database.record(for: record("missing").recordID)
        }
        #expect(first?.code == .unknownItem)
        let second = await #expect(throws: CKError.self) { _ = try await database.record(for: record("a").recordID) }
        #expect(second?.code == .zoneNotFound)
    }

    @Test func `B-REC-08 desired keys are sent as they are`() async throws {
        let transport = ScriptedTransport(ScriptedTransport.findsAll)
        let database = CKContainer.scripted(transport).privateCloudDatabase
        for keys in [nil, [], ["title"]] as [[String]?] {
            _ = try await database.records(for: [record("a").recordID, record("a").recordID], desiredKeys: keys)
        }
        #expect(try transport.requests.map { try $0.lookup().desiredKeys } == [nil, [], ["title"]])
        #expect(try transport.requests.allSatisfy { try $0.lookup().records.count == 1 })
    }

    @Test func `B-ZN-03 results are found under the spelling the app used`() async throws {
        let zone = CKRecordZone.ID(zoneName: "Z", ownerName: "_me")
        let database = CKContainer.scripted(ScriptedTransport(ScriptedTransport.findsAll)).privateCloudDatabase
        let id = CKRecord.ID(recordName: "a", zoneID: zone)
        let results = try await database.records(for: [id])
        #expect(results[id] != nil)
        #expect(try results[id]?.get().recordID == id)
    }

    @Test func `Nothing to do is no request`() async throws {
        let transport = ScriptedTransport(ScriptedTransport.isNotThere)
        let database = CKContainer.scripted(transport).privateCloudDatabase
        let results = try await database.modifyRecords(saving: [], deleting: [])
        #expect(results.saveResults.isEmpty && results.deleteResults.isEmpty)
        #expect(try await database.records(for: []).isEmpty)
        #expect(transport.requests.isEmpty)
    }

    @Test func `Completion handlers get the error of the item`() async throws {
        let database = CKContainer.scripted(ScriptedTransport(ScriptedTransport.findsAll)).privateCloudDatabase
        let id = record("missing").recordID
        let code = await withCheckedContinuation { continuation in
            database.fetch(withRecordID: id) { record, error in
                continuation.resume(returning: record == nil ? (error as? CKError)?.code : nil)
            }
        }
        #expect(code == .unknownItem)
    }
}
