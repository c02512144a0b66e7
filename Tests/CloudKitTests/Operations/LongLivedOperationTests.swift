import FaultyNetwork
import Foundation
import ScriptedCloud
import Synchronization
import Testing

@testable import CloudKit
@testable import CloudKitClient

/// Operations that outlive their process. A process that ends is a container that is made again over the same folder,
/// and an operation whose results are ignored.
@Suite(.timeLimit(.minutes(20))) struct LongLivedOperationTests {
    private static let owner = ScriptedAccount()

    private static func container(
        _ transport: any Transport, _ folder: String, account: ScriptedAccount = owner
    ) -> CKContainer {
        CKContainer(
            identifier: "iCloud.com.example.app", endpoint: "https://cloud.test", account: account,
            transport: transport,
            clientEnvironment: ScriptedClock().clientEnvironment, operationsFolder: folder)
    }

    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/welkin-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await body(folder)
    }

    private func longLived(_ operation: CKDatabaseOperation) {
        let configuration = CKOperation.Configuration()
        configuration.isLongLived = true
        configuration.qualityOfService = .userInitiated
        operation.configuration = configuration
    }

    /// Writes an operation down as its process would have, with the answers that it had got.
    private func leaveBehind(
        _ operation: CKDatabaseOperation, in folder: String, account: String = "_me",
        answers: [(ResponseKey, TransportResponse)] = [], started: Date? = nil, finished: Date? = nil
    ) throws -> String {
        let store = LongLivedStore(folder: folder)
        var kept = LongLivedOperation(
            id: operation.operationID, account: account, scope: 2,
            arguments: try #require(operation.longLivedArguments), operation.chosenSettings, group: nil,
            started: started)
        kept.finished = finished?.timeIntervalSince1970
        try store.save(kept)
        for (ticket, response) in answers { store.keep(response.body, ticket, of: kept.id) }
        return kept.id
    }

    private func record(_ name: String) -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name))
        record["text"] = "kept"
        return record
    }

    @Test func `B-OPS-06 an operation is written down before it runs, and gone once its completion block ran`()
        async throws
    {
        try await withFolder { (folder: String) async throws in
            let container = Self.container(ScriptedTransport(ScriptedTransport.savesAll), folder)
            let operation = CKModifyRecordsOperation(recordsToSave: [record("a")])
            longLived(operation)
            let persisted = Mutex(0)
            let idsDuring = Mutex<[String]>([])
            operation.longLivedOperationWasPersistedBlock = { persisted.withLock { $0 += 1 } }
            operation.perRecordSaveBlock = { _, _ in
                idsDuring.withLock { $0 = LongLivedStore(folder: folder).ids(of: Self.me, at: Date()) }
            }
            await withCheckedContinuation { continuation in
                operation.completionBlock = { continuation.resume() }
                container.privateCloudDatabase.add(operation)
            }
            #expect(persisted.withLock { $0 } == 1)
            #expect(idsDuring.withLock { $0 } == [operation.operationID])
            #expect(try await container.allLongLivedOperationIDs().isEmpty)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        }
    }

    /// On a full disk it went on, and the next process sent the same request as another one, which conflicted with this one.
    @Test func `B-OPS-06 a request that cannot be written down is not sent`() async throws {
        try await withFolder { (folder: String) async throws in
            let transport = ScriptedTransport(ScriptedTransport.savesAll)
            let container = Self.container(transport, folder)
            let operation = CKModifyRecordsOperation(recordsToSave: [record("a")])
            longLived(operation)
            let isInTheWay = "\(folder)/\(operation.operationID)/records-modify-0.attempt/file"
            try FileManager.default.createDirectory(atPath: isInTheWay, withIntermediateDirectories: true)
            let end = Mutex<CKError.Code?>(nil)
            operation.modifyRecordsResultBlock = { result in
                if case .failure(let error) = result { end.withLock { $0 = (error as? CKError)?.code } }
            }
            await withCheckedContinuation { continuation in
                operation.completionBlock = { continuation.resume() }
                container.privateCloudDatabase.add(operation)
            }
            #expect(end.withLock { $0 } == .internalError)
            #expect(transport.requests.allSatisfy { !$0.url.path.hasSuffix("records/modify") })
        }
    }

    @Test func `Other operations leave nothing on disk`() async throws {
        try await withFolder { (folder: String) async throws in
            let container = Self.container(ScriptedTransport(ScriptedTransport.savesAll), folder)
            try await container.privateCloudDatabase.save(record("a"))
            #expect(!FileManager.default.fileExists(atPath: folder))
        }
    }

    @Test func `B-OPS-06 an interrupted save goes on in the next process`() async throws {
        try await withFolder { (folder: String) async throws in
            let lost = CKModifyRecordsOperation(
                recordsToSave: [record("a")], recordIDsToDelete: [.init(recordName: "b")])
            lost.savePolicy = .changedKeys
            longLived(lost)
            let id = try leaveBehind(lost, in: folder)
            let transport = ScriptedTransport(ScriptedTransport.savesAll)
            let container = Self.container(transport, folder)
            #expect(try await container.allLongLivedOperationIDs() == [id])
            let found = try #require(try await container.longLivedOperation(for: id) as? CKModifyRecordsOperation)
            #expect(found.operationID == id)
            #expect(found.configuration.isLongLived)
            #expect(found.savePolicy == .changedKeys)
            let saved = Mutex<[String]>([])
            found.perRecordSaveBlock = { id, _ in saved.withLock { $0.append(id.recordName) } }
            await withCheckedContinuation { continuation in
                found.completionBlock = { continuation.resume() }
                container.add(found)
            }
            #expect(saved.withLock { $0 } == ["a"])
            let sent = try #require(try transport.requests.first?.modification())
            #expect(sent.operations.map(\.change.recordName) == ["a", "b"])
            #expect(transport.requests.first?.headers["X-Welkin-Operation"] == id)
            #expect(try await container.allLongLivedOperationIDs().isEmpty)
        }
    }

    @Test func `B-OPS-06 answers of an earlier process are replayed without asking again`() async throws {
        try await withFolder { (folder: String) async throws in
            let lost = CKModifyRecordsOperation(recordsToSave: [record("a")])
            longLived(lost)
            let ticket = ResponseKey(endpoint: CloudEndpoint.modifyRecords.path, number: 0)
            let answer = TransportResponse.records([.record(.stored("a", tag: "7"))])
            let id = try leaveBehind(lost, in: folder, answers: [(ticket, answer)], finished: Date())
            let transport = ScriptedTransport(ScriptedTransport.isNotThere)
            let container = Self.container(transport, folder)
            let found = try #require(try await container.longLivedOperation(for: id) as? CKModifyRecordsOperation)
            let tag = Mutex<String?>(nil)
            found.perRecordSaveBlock = { _, result in
                if case .success(let record) = result { tag.withLock { $0 = record.recordChangeTag } }
            }
            try await withCheckedThrowingContinuation { continuation in
                found.modifyRecordsResultBlock = { continuation.resume(with: $0) }
                container.add(found)
            }
            #expect(tag.withLock { $0 } == "7")
            #expect(transport.requests.isEmpty)
        }
    }

    @Test func `B-OPS-06 a feed of several pages goes on after the last page that came`() async throws {
        try await withFolder { (folder: String) async throws in
            let zone = CKRecordZone.ID(zoneName: "Z")
            let lost = CKFetchRecordZoneChangesOperation(recordZoneIDs: [zone])
            longLived(lost)
            let first = TransportResponse.changes(
                .page(.init(zoneID: zone.model, events: [.changed(.stored("a"))], syncToken: "1", moreComing: true)))
            let ticket = ResponseKey(endpoint: CloudEndpoint.zoneChanges.path, number: 0)
            let id = try leaveBehind(lost, in: folder, answers: [(ticket, first)])
            let transport = ScriptedTransport { request in
                let token = try request.zoneChanges().first?.syncToken
                #expect(token == "1")
                return .changes(
                    .page(
                        .init(zoneID: zone.model, events: [.changed(.stored("b"))], syncToken: "2", moreComing: false)))
            }
            let container = Self.container(transport, folder)
            let found = try #require(
                try await container.longLivedOperation(for: id) as? CKFetchRecordZoneChangesOperation)
            let names = Mutex<[String]>([])
            found.recordWasChangedBlock = { id, _ in names.withLock { $0.append(id.recordName) } }
            try await withCheckedThrowingContinuation { continuation in
                found.fetchRecordZoneChangesResultBlock = { continuation.resume(with: $0) }
                container.add(found)
            }
            #expect(names.withLock { $0 } == ["a", "b"])
            #expect(transport.requests.count == 1)
        }
    }

    @Test func `Every kind of database operation can be made again`() throws {
        let zone = CKRecordZone.ID(zoneName: "Z")
        let id = CKRecord.ID(recordName: "a", zoneID: zone)
        let query = CKQueryOperation(query: CKQuery(recordType: "Note", predicate: NSPredicate(value: true)))
        query.resultsLimit = 7
        let operations: [CKDatabaseOperation] = [
            CKModifyRecordsOperation(recordsToSave: [record("a")], recordIDsToDelete: [id]),
            CKFetchRecordsOperation(recordIDs: [id]), CKFetchRecordsOperation.fetchCurrentUserRecordOperation(), query,
            CKModifyRecordZonesOperation(
                recordZonesToSave: [CKRecordZone(zoneID: zone)], recordZoneIDsToDelete: [zone]),
            CKFetchRecordZonesOperation(recordZoneIDs: [zone]),
            CKFetchRecordZonesOperation.fetchAllRecordZonesOperation(),
            CKFetchDatabaseChangesOperation(previousServerChangeToken: CKServerChangeToken("t")),
            CKFetchRecordZoneChangesOperation(recordZoneIDs: [zone]),
            CKModifySubscriptionsOperation(
                subscriptionsToSave: [CKDatabaseSubscription(subscriptionID: "d")], subscriptionIDsToDelete: ["e"]),
            CKFetchSubscriptionsOperation(subscriptionIDs: ["d"]),
            CKFetchSubscriptionsOperation.fetchAllSubscriptionsOperation(),
        ]
        for operation in operations {
            let bytes = try JSONEncoder().encode(try #require(operation.longLivedArguments))
            let again = try #require(try JSONDecoder().decode(LongLivedArguments.self, from: bytes).operation())
            #expect(type(of: again) == type(of: operation))
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            // Archives are not the same bytes twice.
            let holdsArchives =
                operation is CKModifyRecordsOperation || operation is CKQueryOperation
                || operation is CKModifySubscriptionsOperation
            if !holdsArchives {
                let second = try encoder.encode(again.longLivedArguments)
                let first = try encoder.encode(operation.longLivedArguments)
                #expect(first == second)
            }
        }
    }

    @Test func `B-OPS-06 subscriptions of every kind go on as they were`() async throws {
        try await withFolder { (folder: String) async throws in
            let query = CKQuerySubscription(
                recordType: "Note", predicate: NSPredicate(format: "n > 5"), subscriptionID: "q",
                options: [.firesOnRecordCreation])
            query.notificationInfo = CKSubscription.NotificationInfo(alertBody: "new")
            let zone = CKRecordZoneSubscription(zoneID: .init(zoneName: "Z"), subscriptionID: "z")
            let lost = CKModifySubscriptionsOperation(
                subscriptionsToSave: [query, zone, CKDatabaseSubscription(subscriptionID: "d")],
                subscriptionIDsToDelete: ["gone"])
            longLived(lost)
            let id = try leaveBehind(lost, in: folder)
            let container = Self.container(ScriptedTransport(ScriptedTransport.isNotThere), folder)
            let found = try #require(
                try await container.longLivedOperation(for: id) as? CKModifySubscriptionsOperation)
            let expected = try [query, zone, CKDatabaseSubscription(subscriptionID: "d")].map { try $0.model() }
            #expect(try found.subscriptionsToSave?.map { try $0.model() } == expected)
            #expect(found.subscriptionIDsToDelete == ["gone"])
        }
    }

    @Test func `B-OPS-06 a finished operation waits 24 hours for its app`() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/welkin-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let now = Date(timeIntervalSince1970: 1_000_000)
        let operation = CKFetchRecordsOperation(recordIDs: [])
        let id = try leaveBehind(operation, in: folder, finished: now)
        let running = try leaveBehind(CKFetchRecordsOperation(recordIDs: []), in: folder)
        let store = LongLivedStore(folder: folder)
        let day: TimeInterval = 24 * 3600
        #expect(store.ids(of: Self.me, at: now + day) == [id, running].sorted())
        #expect(store.ids(of: Self.me, at: now + day + 1) == [running])
        #expect(!FileManager.default.fileExists(atPath: folder + "/" + id))
    }

    @Test func `B-OPS-04 B-OPS-06 an unfinished operation is kept as long as it may take, at least a day`() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/welkin-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let start = Date(timeIntervalSince1970: 1_000_000)
        let usual = try leaveBehind(CKFetchRecordsOperation(recordIDs: []), in: folder, started: start)
        let hasty = CKFetchRecordsOperation(recordIDs: [])
        hasty.configuration.timeoutIntervalForResource = 60
        let short = try leaveBehind(hasty, in: folder, started: start)
        let store = LongLivedStore(folder: folder)
        let day: TimeInterval = 24 * 3600
        #expect(store.ids(of: Self.me, at: start + day) == [usual, short].sorted())
        #expect(store.ids(of: Self.me, at: start + day + 1) == [usual])
        #expect(store.ids(of: Self.me, at: start + 7 * day) == [usual])
        #expect(store.ids(of: Self.me, at: start + 7 * day + 1).isEmpty)
    }

    @Test func `B-OPS-06 an expired operation is not found by its identifier either`() async throws {
        try await withFolder { (folder: String) async throws in
            let id = try leaveBehind(
                CKFetchRecordsOperation(recordIDs: []), in: folder, finished: Date() - 24 * 3600 - 60)
            let container = Self.container(ScriptedTransport(), folder)
            #expect(try await container.longLivedOperation(for: id) == nil)
            #expect(!FileManager.default.fileExists(atPath: folder + "/" + id))
        }
    }

    private static let me = LongLivedOwner(email: "me@example.com", userRecordName: "_me")

    @Test func `An operation belongs to its user, and its files to no one else`() async throws {
        try await withFolder { (folder: String) async throws in
            let id = try leaveBehind(CKFetchRecordsOperation(recordIDs: []), in: folder)
            let container = Self.container(ScriptedTransport(), folder)
            #expect(try await container.allLongLivedOperationIDs() == [id])
            let other = Self.container(
                ScriptedTransport(), folder,
                account: ScriptedAccount(
                    state: .available(.init(email: "other@example.com", id: "d")), userRecordName: "_other"))
            #expect(try await other.allLongLivedOperationIDs().isEmpty)
            #expect(try await other.longLivedOperation(for: id) == nil)
            // The account of the same address that was made after hers was removed.
            let follower = Self.container(
                ScriptedTransport(), folder, account: ScriptedAccount(userRecordName: "_follower"))
            #expect(try await follower.allLongLivedOperationIDs().isEmpty)
            let store = LongLivedStore(folder: folder)
            // Earlier versions named users by their addresses.
            let earlier = try leaveBehind(
                CKFetchRecordsOperation(recordIDs: []), in: folder, account: "me@example.com")
            #expect(store.ids(of: Self.me, at: Date()) == [id, earlier].sorted())
            let nobody = Self.container(ScriptedTransport(), folder, account: .signedOut)
            #expect(try await nobody.allLongLivedOperationIDs().isEmpty)
            let file = folder + "/" + id + "/operation.json"
            let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? NSNumber
            #expect(mode?.intValue == 0o600)
        }
    }

    @Test func `An identifier that is none finds nothing, and damage is not there`() async throws {
        try await withFolder { (folder: String) async throws in
            let id = try leaveBehind(CKFetchRecordsOperation(recordIDs: []), in: folder)
            let container = Self.container(ScriptedTransport(), folder)
            for bad in ["", "..", "../" + id, id + "/", "nonsense", UUID().uuidString] {
                #expect(try await container.longLivedOperation(for: bad) == nil)
            }
            try Data("{".utf8).write(to: URL(fileURLWithPath: folder + "/" + id + "/operation.json"))
            #expect(try await container.longLivedOperation(for: id) == nil)
            #expect(try await container.allLongLivedOperationIDs().isEmpty)
        }
    }

    @Test func `An operation is in one pair of hands`() async throws {
        try await withFolder { (folder: String) async throws in
            let id = try leaveBehind(CKFetchRecordsOperation(recordIDs: []), in: folder)
            let container = Self.container(ScriptedTransport(ScriptedTransport.findsAll), folder)
            let claim = LongLivedStore(folder: folder).claim(id)
            #expect(try await container.longLivedOperation(for: id) == nil)
            withExtendedLifetime(claim) {}
        }
        try await withFolder { (folder: String) async throws in
            let id = try leaveBehind(CKFetchRecordsOperation(recordIDs: []), in: folder)
            let container = Self.container(ScriptedTransport(ScriptedTransport.findsAll), folder)
            let first = try #require(try await container.longLivedOperation(for: id))
            #expect(try await container.longLivedOperation(for: id) === first)
            first.cancel()
            #expect(try await container.allLongLivedOperationIDs().isEmpty)
        }
    }

    @Test func `The forms with completion handlers, as Apple's page shows them`() async throws {
        try await withFolder { (folder: String) async throws in
            let id = try leaveBehind(CKFetchRecordsOperation(recordIDs: [.init(recordName: "a")]), in: folder)
            let container = Self.container(ScriptedTransport(ScriptedTransport.findsAll), folder)
            let finished: String = await withCheckedContinuation { continuation in
                container.fetchAllLongLivedOperationIDs(completionHandler: { (operationIDs, error) in
                    if let error = error {
                        Issue.record(error)
                        return
                    }
                    guard let identifiers = operationIDs else { return }
                    for operationID in identifiers {
                        container.fetchLongLivedOperation(
                            withID: operationID,
                            completionHandler: { (operation, error) in
                                if let error = error {
                                    Issue.record(error)
                                    return
                                }
                                guard let operation = operation else { return }
                                operation.completionBlock = { continuation.resume(returning: operationID) }
                                container.add(operation)
                            })
                    }
                })
            }
            #expect(finished == id)
        }
    }
}
