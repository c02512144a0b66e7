import CloudKitModel
import Foundation
import ScriptedCloud
import Testing

@testable import CloudKit

@Suite(.timeLimit(.minutes(20))) struct ZoneQueryAndChangeTests {
    private let zone = ZoneID(zoneName: "Z")
    private var zoneID: CKRecordZone.ID { CKRecordZone.ID(zoneName: "Z", ownerName: CKCurrentUserDefaultName) }

    @Test func `B-ZN-04 a saved zone has its capabilities`() async throws {
        let saved = Zone(id: zone, capabilities: .custom)
        let database = CKContainer.scripted(ScriptedTransport { _ in .zones([.zone(saved)]) }).privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Z"))
        #expect(zone.zoneID == zoneID)
        #expect(zone.capabilities.contains([.fetchChanges, .atomic]))
    }

    @Test func `A zone named twice is refused before sending`() async throws {
        let transport = ScriptedTransport(ScriptedTransport.isNotThere)
        let database = CKContainer.scripted(transport).privateCloudDatabase
        let error = await #expect(throws: CKError.self) {
            _ = try await database.modifyRecordZones(saving: [CKRecordZone(zoneID: zoneID)], deleting: [zoneID])
        }
        #expect(error?.code == .invalidArguments)
        #expect(transport.requests.isEmpty)
    }

    @Test func `B-ZN-07 a missing zone is the error of the item`() async throws {
        let zone = zone
        let transport = ScriptedTransport { _ in .zones([.failed(zone, RequestFailure(.zoneNotFound, "gone"))]) }
        let database = CKContainer.scripted(transport).privateCloudDatabase
        let error = await #expect(throws: CKError.self) { _ = try await database.recordZone(for: zoneID) }
        #expect(error?.code == .zoneNotFound)
        let deletion = await #expect(throws: CKError.self) { _ = try await database.deleteRecordZone(withID: zoneID) }
        #expect(deletion?.code == .zoneNotFound)
    }

    @Test func `B-QRY-18 a cursor carries query and zone, and keys and limit are set again`() async throws {
        let zone = zone
        let transport = ScriptedTransport(
            { _ in .query(QueryPage(records: [.stored("a", in: zone)], continuationMarker: "next")) },
            { _ in .query(QueryPage(records: [.stored("b", in: zone)])) })
        let database = CKContainer.scripted(transport).privateCloudDatabase
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        let first = try await database.records(
            matching: query, inZoneWith: zoneID, desiredKeys: ["title"], resultsLimit: 1)
        let cursor = try #require(first.queryCursor)
        let second = try await database.records(continuingMatchFrom: cursor)
        #expect(first.matchResults.map(\.0.recordName) == ["a"])
        #expect(second.matchResults.map(\.0.recordName) == ["b"])
        #expect(second.queryCursor == nil)
        let requests = try transport.requests.map { try $0.search() }
        #expect(requests.map(\.continuationMarker) == [nil, "next"])
        #expect(requests.map(\.resultsLimit) == [1, nil])
        #expect(requests.map(\.desiredKeys) == [["title"], nil])
        #expect(requests.map { $0.zoneID?.zoneName } == ["Z", "Z"])
        #expect(requests[0].query == requests[1].query)
    }

    @Test func `B-QRY-01 without a zone a private query goes through all zones and a shared one is refused`()
        async throws
    {
        let transport = ScriptedTransport { _ in .query(QueryPage(records: [])) }
        let container = CKContainer.scripted(transport)
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        _ = try await container.privateCloudDatabase.records(matching: query)
        _ = try await container.publicCloudDatabase.records(matching: query)
        #expect(try transport.requests.map { try $0.search().zoneWide } == [true, false])
        let error = await #expect(throws: CKError.self) {
            _ = try await container.sharedCloudDatabase.records(matching: query)
        }
        #expect(error?.code == .invalidArguments)
        #expect(transport.requests.count == 2)
    }

    @Test func `B-QRY-17 a condition that cannot be sent fails the query`() async throws {
        let database = CKContainer.scripted(ScriptedTransport(ScriptedTransport.isNotThere)).privateCloudDatabase
        let query = CKQuery(recordType: "Note", predicate: NSPredicate { _, _ in true })
        let error = await #expect(throws: CKError.self) { _ = try await database.records(matching: query) }
        #expect(error?.code == .invalidArguments)
    }

    @Test func `B-DB-04 asking the public database for changes is an error`() async throws {
        let transport = ScriptedTransport(ScriptedTransport.isNotThere)
        let database = CKContainer.scripted(transport).publicCloudDatabase
        let first = await #expect(throws: CKError.self) { _ = try await database.databaseChanges(since: nil) }
        let second = await #expect(throws: CKError.self) {
            _ = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil)
        }
        #expect(first?.code == .invalidArguments)
        #expect(second?.code == .invalidArguments)
        #expect(transport.requests.isEmpty)
    }

    @Test func `B-CHG-05 a page of a zone holds newest states and deletions with their type`() async throws {
        let page = ZoneChangesPage(
            zoneID: zone,
            events: [
                .changed(.stored("a", in: zone)),
                .deleted(RecordTombstone(recordName: "b", recordType: "Note")),
            ], syncToken: "t1", moreComing: true)
        let transport = ScriptedTransport { _ in .changes(.page(page)) }
        let database = CKContainer.scripted(transport).privateCloudDatabase
        let changes = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil, resultsLimit: 5)
        #expect(changes.modificationResultsByID.keys.map(\.recordName) == ["a"])
        #expect(changes.deletions.map(\.recordID.recordName) == ["b"])
        #expect(changes.deletions.map(\.recordType) == ["Note"])
        #expect(changes.moreComing)
        _ = try await database.recordZoneChanges(inZoneWith: zoneID, since: changes.changeToken)
        #expect(try transport.requests.map { try $0.zoneChanges().first?.syncToken } == [nil, "t1"])
        #expect(try transport.requests.map { try $0.zoneChanges().first?.resultsLimit } == [5, nil])
    }

    @Test func `B-CHG-09 an expired token throws`() async throws {
        let zone = zone
        let transport = ScriptedTransport { _ in
            .changes(
                .failed(
                    zone, RequestFailure(.changeTokenExpired, "client knowledge differs from server knowledge")))
        }
        let database = CKContainer.scripted(transport).privateCloudDatabase
        let error = await #expect(throws: CKError.self) {
            _ = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil)
        }
        #expect(error?.code == .changeTokenExpired)
    }

    @Test func `B-ZN-09 zone deletions carry their reason`() async throws {
        let zone = zone
        let page = DatabaseChangesPage(
            events: [
                .changed(ZoneID(zoneName: "A"), syncToken: "a"), .deleted(zone, .deleted),
                .deleted(ZoneID(zoneName: "P"), .purged), .deleted(ZoneID(zoneName: "E"), .encryptedDataReset),
            ], syncToken: "d1", moreComing: false)
        let database = CKContainer.scripted(ScriptedTransport { _ in .changes(page) }).privateCloudDatabase
        let changes = try await database.databaseChanges(since: nil)
        #expect(changes.modifications.map(\.zoneID.zoneName) == ["A"])
        #expect(changes.deletions.map(\.reason) == [.deleted, .purged, .encryptedDataReset])
        #expect(changes.deletions.map(\.purged) == [false, true, false])
        let reasons = await withCheckedContinuation { continuation in
            database.fetchDatabaseChanges(since: nil) { result in
                continuation.resume(returning: (try? result.get().deletions.map(\.reason)) ?? [])
            }
        }
        #expect(reasons == [.deleted, .purged, .encryptedDataReset])
    }
}
