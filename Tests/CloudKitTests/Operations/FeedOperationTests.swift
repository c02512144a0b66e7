import CloudKitModel
import Foundation
import ScriptedCloud
import Synchronization
import Testing

@testable import CloudKit

@Suite(.timeLimit(.minutes(20))) struct FeedOperationTests {
    private let zoneIDs = ["A", "B"].map { CKRecordZone.ID(zoneName: $0, ownerName: CKCurrentUserDefaultName) }

    /// Two pages of one record each in every zone.
    private static let twoPages: ScriptedTransport.Answer = { request in
        let asked = try request.zoneChanges()[0]
        let isFirst = asked.syncToken == nil
        return .changes(
            .page(
                ZoneChangesPage(
                    zoneID: asked.zoneID,
                    events: [
                        isFirst
                            ? .changed(.stored("r", in: asked.zoneID))
                            : .deleted(RecordTombstone(recordName: "r", recordType: "Note"))
                    ], syncToken: isFirst ? "1" : "2", moreComing: isFirst, clientChangeToken: [9])))
    }

    private func run(
        _ operation: CKFetchRecordZoneChangesOperation, _ transport: ScriptedTransport
    ) async -> [String] {
        let database = CKContainer.scripted(transport).privateCloudDatabase
        let log = Mutex<[String]>([])
        await withCheckedContinuation { continuation in
            operation.recordWasChangedBlock = { id, _ in
                log.withLock { $0.append("changed \(id.recordName) in \(id.zoneID.zoneName)") }
            }
            operation.recordWithIDWasDeletedBlock = { id, type in
                log.withLock { $0.append("deleted \(id.recordName) \(type)") }
            }
            operation.recordZoneChangeTokensUpdatedBlock = { id, token, data in
                log.withLock { $0.append("token \(id.zoneName) \(token?.token ?? "") \(data?.count ?? 0)") }
            }
            operation.recordZoneFetchResultBlock = { id, result in
                let text =
                    switch result {
                    case .success(let end): "\(end.serverChangeToken.token) \(end.moreComing)"
                    case .failure(let error): "\((error as? CKError)?.code.rawValue ?? 0)"
                    }
                log.withLock { $0.append("zone \(id.zoneName) \(text)") }
            }
            operation.fetchRecordZoneChangesCompletionBlock = { error in
                log.withLock { $0.append("old \((error as? CKError)?.code.rawValue ?? 0)") }
            }
            operation.fetchRecordZoneChangesResultBlock = { result in
                let isSuccess = (try? result.get()) != nil
                log.withLock { $0.append("result \(isSuccess)") }
                continuation.resume()
            }
            database.add(operation)
        }
        return log.withLock { $0 }
    }

    @Test func `B-CHG-11 B-CHG-13 all pages of one zone after the other, each token after its page`() async {
        let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: zoneIDs)
        let log = await run(operation, ScriptedTransport(Self.twoPages))
        #expect(
            log == [
                "changed r in A", "token A 1 1", "deleted r Note", "token A 2 1", "zone A 2 false",
                "changed r in B", "token B 1 1", "deleted r Note", "token B 2 1", "zone B 2 false", "old 0",
                "result true",
            ])
    }

    @Test func `B-CHG-11 without fetchAllChanges there is one page, and moreComing is set`() async {
        let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: [zoneIDs[0]])
        operation.fetchAllChanges = false
        let log = await run(operation, ScriptedTransport(Self.twoPages))
        #expect(log == ["changed r in A", "zone A 1 true", "old 0", "result true"])
    }

    @Test func `B-CHG-13 a failing zone does not stop the others`() async throws {
        let transport = ScriptedTransport(
            { request in
                .changes(
                    .failed(try request.zoneChanges()[0].zoneID, RequestFailure(.changeTokenExpired, "expired")))
            }, Self.twoPages)
        let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration()
        configuration.previousServerChangeToken = CKServerChangeToken("old")
        configuration.desiredKeys = ["title"]
        configuration.resultsLimit = 7
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: zoneIDs, configurationsByRecordZoneID: [zoneIDs[0]: configuration])
        operation.fetchAllChanges = false
        let log = await run(operation, transport)
        #expect(log == ["zone A 21", "changed r in B", "zone B 1 true", "old 2", "result true"])
        let asked = try transport.requests.map { try $0.zoneChanges()[0] }
        #expect(asked.map(\.syncToken) == ["old", nil])
        #expect(asked.map(\.desiredKeys) == [["title"], nil])
        #expect(asked.map(\.resultsLimit) == [7, nil])
    }

    @Test func `With no server reachable the whole fetch fails, and later only the zones that are left`() async {
        let first = await run(
            CKFetchRecordZoneChangesOperation(recordZoneIDs: zoneIDs), ScriptedTransport(ScriptedTransport.isNotThere))
        #expect(first == ["old 3", "result false"])
        let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: zoneIDs)
        operation.fetchAllChanges = false
        let second = await run(operation, ScriptedTransport(Self.twoPages, ScriptedTransport.isNotThere))
        #expect(second == ["changed r in A", "zone A 1 true", "zone B 3", "old 2", "result true"])
    }

    @Test func `B-DB-04 the public database has no feed`() async {
        let transport = ScriptedTransport(Self.twoPages)
        let database = CKContainer.scripted(transport).publicCloudDatabase
        let codes = Mutex<[CKError.Code?]>([])
        await withCheckedContinuation { continuation in
            let zones = CKFetchDatabaseChangesOperation(previousServerChangeToken: nil)
            zones.fetchDatabaseChangesCompletionBlock = { _, _, error in
                codes.withLock { $0.append((error as? CKError)?.code) }
            }
            let records = CKFetchRecordZoneChangesOperation(recordZoneIDs: zoneIDs)
            records.fetchRecordZoneChangesCompletionBlock = { error in
                codes.withLock { $0.append((error as? CKError)?.code) }
                continuation.resume()
            }
            records.addDependency(zones)
            database.add(zones)
            database.add(records)
        }
        #expect(codes.withLock { $0 } == [.invalidArguments, .invalidArguments])
        #expect(transport.requests.isEmpty)
    }

    @Test func `B-CHG-11 B-ZN-09 the database feed in pages, deletions by their reason`() async {
        let pages = [
            DatabaseChangesPage(
                events: [.changed(ZoneID(zoneName: "A"), syncToken: "a"), .deleted(ZoneID(zoneName: "D"), .deleted)],
                syncToken: "1", moreComing: true),
            DatabaseChangesPage(
                events: [
                    .deleted(ZoneID(zoneName: "P"), .purged), .deleted(ZoneID(zoneName: "E"), .encryptedDataReset),
                ], syncToken: "2", moreComing: false),
        ]
        let transport = ScriptedTransport({ _ in .changes(pages[0]) }, { _ in .changes(pages[1]) })
        let database = CKContainer.scripted(transport).privateCloudDatabase
        let log = Mutex<[String]>([])
        await withCheckedContinuation { continuation in
            let operation = CKFetchDatabaseChangesOperation(previousServerChangeToken: CKServerChangeToken("0"))
            operation.recordZoneWithIDChangedBlock = { id in log.withLock { $0.append("changed \(id.zoneName)") } }
            operation.recordZoneWithIDWasDeletedBlock = { id in log.withLock { $0.append("deleted \(id.zoneName)") } }
            operation.recordZoneWithIDWasPurgedBlock = { id in log.withLock { $0.append("purged \(id.zoneName)") } }
            operation.changeTokenUpdatedBlock = { token in log.withLock { $0.append("token \(token.token)") } }
            operation.fetchDatabaseChangesResultBlock = { result in
                let end = try? result.get()
                log.withLock { $0.append("end \(end?.serverChangeToken.token ?? "") \(end?.moreComing ?? true)") }
                continuation.resume()
            }
            database.add(operation)
        }
        #expect(
            log.withLock { $0 } == [
                "changed A", "deleted D", "token 1", "purged P", "deleted E", "token 2", "end 2 false",
            ])
    }

    @Test func `A query operation reports its matches and where to go on`() async throws {
        let transport = ScriptedTransport(
            { _ in .query(QueryPage(records: [.stored("a"), .stored("b")], continuationMarker: "m")) },
            { _ in .query(QueryPage(records: [.stored("c")])) })
        let database = CKContainer.scripted(transport).privateCloudDatabase
        let names = Mutex<[String]>([])
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        let cursor = await withCheckedContinuation { continuation in
            let operation = CKQueryOperation(query: query)
            operation.resultsLimit = 2
            operation.recordFetchedBlock = { record in names.withLock { $0.append("old " + record.recordID.recordName) }
            }
            operation.recordMatchedBlock = { id, _ in names.withLock { $0.append(id.recordName) } }
            operation.queryResultBlock = { continuation.resume(returning: (try? $0.get()) ?? nil) }
            database.add(operation)
        }
        let isOver = await withCheckedContinuation { continuation in
            let operation = CKQueryOperation(cursor: cursor ?? CKQueryCursor(marker: "?", query: query, zoneID: nil))
            operation.recordMatchedBlock = { id, _ in names.withLock { $0.append(id.recordName) } }
            operation.queryCompletionBlock = { cursor, error in
                continuation.resume(returning: cursor == nil && error == nil)
            }
            database.add(operation)
        }
        #expect(isOver)
        #expect(names.withLock { $0 } == ["old a", "a", "old b", "b", "c"])
        #expect(try transport.requests.map { try $0.search().continuationMarker } == [nil, "m"])
    }

    @Test func `Zones are saved, deleted and fetched by operations`() async throws {
        let custom = Zone(id: ZoneID(zoneName: "A"), capabilities: .custom)
        let transport = ScriptedTransport(
            { _ in .zones([.zone(custom), .failed(ZoneID(zoneName: "B"), RequestFailure(.zoneNotFound, "gone"))]) },
            { _ in .zones([.zone(custom)]) })
        let database = CKContainer.scripted(transport).privateCloudDatabase
        let log = Mutex<[String]>([])
        await withCheckedContinuation { continuation in
            let modify = CKModifyRecordZonesOperation(
                recordZonesToSave: [CKRecordZone(zoneID: zoneIDs[0])], recordZoneIDsToDelete: [zoneIDs[1]])
            modify.perRecordZoneSaveBlock = { id, _ in log.withLock { $0.append("saved \(id.zoneName)") } }
            modify.perRecordZoneDeleteBlock = { id, result in
                let isSuccess = (try? result.get()) != nil
                log.withLock { $0.append("deleted \(id.zoneName) \(isSuccess)") }
            }
            modify.modifyRecordZonesCompletionBlock = { saved, deleted, error in
                let errors = (error as? CKError)?.partialErrorsByItemID
                log.withLock { $0.append("old \(saved?.count ?? 0) \(deleted?.count ?? 0) \(errors?.count ?? 0)") }
            }
            let fetch = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
            fetch.addDependency(modify)
            fetch.fetchRecordZonesCompletionBlock = { zones, _ in
                log.withLock { $0.append("all \(zones?.keys.map(\.zoneName) ?? [])") }
                continuation.resume()
            }
            database.add(modify)
            database.add(fetch)
        }
        #expect(log.withLock { $0 } == ["saved A", "deleted B false", "old 1 0 1", "all [\"A\"]"])
    }

    @Test func `B-OPS-07 all requests of an operation have its identifier, another operation's have another`()
        async throws
    {
        var identifiers: [[String?]] = []
        for _ in 0..<2 {
            let transport = ScriptedTransport(Self.twoPages)
            let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: [zoneIDs[0]])
            _ = await run(operation, transport)
            identifiers.append(transport.requests.map { $0.headers["X-Welkin-Operation"] })
            #expect(identifiers.last == [operation.operationID, operation.operationID])
        }
        #expect(identifiers[0][0] != identifiers[1][0])
    }
}
