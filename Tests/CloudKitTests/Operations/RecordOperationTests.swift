import CloudKitModel
import Dispatch
import Foundation
import ScriptedCloud
import Synchronization
import Testing

@testable import CloudKit

@Suite(.timeLimit(.minutes(20))) struct RecordOperationTests {
    private let zoneID = CKRecordZone.ID(zoneName: "Z", ownerName: CKCurrentUserDefaultName)

    private func record(_ name: String) -> CKRecord {
        CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
    }

    private func ids(_ names: String...) -> [CKRecord.ID] {
        names.map { CKRecord.ID(recordName: $0, zoneID: zoneID) }
    }

    @Test func `B-OPS-01 the blocks of an operation run one at a time, on a queue of its own`() async throws {
        let database = CKContainer.scripted(ScriptedTransport(ScriptedTransport.savesAll)).privateCloudDatabase
        let running = Mutex<(now: Int, most: Int)>((0, 0))
        @Sendable func block(_ body: () -> Void = {}) {
            running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            body()
            running.withLock { $0.now -= 1 }
        }
        // A block of one operation waits for one of the other: on a common queue it would wait in vain.
        let other = DispatchSemaphore(value: 0)
        let first = CKModifyRecordsOperation(recordsToSave: [record("a"), record("b")], recordIDsToDelete: ids("c"))
        first.perRecordProgressBlock = { _, _ in block() }
        first.perRecordSaveBlock = { id, _ in
            guard id.recordName == "a" else { return block() }
            block { #expect(other.wait(timeout: .now() + 60) == .success) }
        }
        first.perRecordDeleteBlock = { _, _ in block() }
        let second = CKModifyRecordsOperation(recordsToSave: [record("d")], recordIDsToDelete: [])
        second.perRecordSaveBlock = { _, _ in other.signal() }
        await withCheckedContinuation { continuation in
            first.modifyRecordsResultBlock = { _ in
                block()
                continuation.resume()
            }
            database.add(first)
            database.add(second)
        }
        #expect(running.withLock(\.most) == 1)
    }

    @Test func `B-OPS-01 the blocks of single items come before the completion`() async throws {
        let database = CKContainer.scripted(ScriptedTransport(ScriptedTransport.savesAll)).privateCloudDatabase
        let log = Mutex<[String]>([])
        await withCheckedContinuation { continuation in
            let operation = CKModifyRecordsOperation(
                recordsToSave: [record("a"), record("b")], recordIDsToDelete: ids("c"))
            operation.perRecordProgressBlock = { record, progress in
                log.withLock { $0.append("progress \(record.recordID.recordName) \(progress)") }
            }
            operation.perRecordCompletionBlock = { record, error in
                log.withLock { $0.append("completed \(record.recordID.recordName) \(error == nil)") }
            }
            operation.perRecordSaveBlock = { id, _ in log.withLock { $0.append("saved \(id.recordName)") } }
            operation.perRecordDeleteBlock = { id, _ in log.withLock { $0.append("deleted \(id.recordName)") } }
            operation.modifyRecordsCompletionBlock = { saved, deleted, error in
                log.withLock { $0.append("all \(saved?.count ?? -1) \(deleted?.count ?? -1) \(error == nil)") }
            }
            operation.modifyRecordsResultBlock = { _ in
                log.withLock { $0.append("result") }
                continuation.resume()
            }
            database.add(operation)
        }
        #expect(
            log.withLock { $0 } == [
                "progress a 1.0", "completed a true", "saved a", "progress b 1.0", "completed b true", "saved b",
                "deleted c", "all 2 1 true", "result",
            ])
    }

    @Test func `B-OPS-02 the completion has returned before dependants start`() async throws {
        let database = CKContainer.scripted(ScriptedTransport(ScriptedTransport.findsAll)).privateCloudDatabase
        let log = Mutex<[String]>([])
        await withCheckedContinuation { continuation in
            let first = CKFetchRecordsOperation(recordIDs: ids("a"))
            let second = CKFetchRecordsOperation(recordIDs: ids("b"))
            first.fetchRecordsResultBlock = { _ in
                log.withLock { $0.append("first \(first.isFinished), second may start \(second.isReady)") }
            }
            second.addDependency(first)
            second.perRecordProgressBlock = { _, _ in log.withLock { $0.append("second, after \(first.isFinished)") } }
            second.fetchRecordsResultBlock = { _ in continuation.resume() }
            database.add(second)
            database.add(first)
        }
        #expect(log.withLock { $0 } == ["first false, second may start false", "second, after true"])
    }

    @Test
    func `B-BAT-03 B-BAT-05 one missing record of four: the old block sees a partial failure, the new one success`()
        async throws
    {
        let database = CKContainer.scripted(ScriptedTransport(ScriptedTransport.findsAll)).privateCloudDatabase
        let ids = ids("a", "b", "missing", "c")
        let successes = Mutex<[String]>([])
        let failures = Mutex<[CKError.Code]>([])
        let sum = Mutex<CKError?>(nil)
        let isSuccess = await withCheckedContinuation { continuation in
            let operation = CKFetchRecordsOperation(recordIDs: ids)
            operation.perRecordResultBlock = { id, result in
                switch result {
                case .success: successes.withLock { $0.append(id.recordName) }
                case .failure(let error as CKError): failures.withLock { $0.append(error.code) }
                case .failure: break
                }
            }
            operation.fetchRecordsCompletionBlock = { records, error in
                #expect(records?.count == 3)
                sum.withLock { $0 = error as? CKError }
            }
            operation.fetchRecordsResultBlock = { result in
                continuation.resume(returning: (try? result.get()) != nil)
            }
            database.add(operation)
        }
        #expect(isSuccess)
        #expect(successes.withLock { $0 } == ["a", "b", "c"])
        #expect(failures.withLock { $0 } == [.unknownItem])
        let error = try #require(sum.withLock { $0 })
        #expect(error.code == .partialFailure)
        #expect((error.partialErrorsByItemID?[ids[2]] as? CKError)?.code == .unknownItem)
        #expect(error.partialErrorsByItemID?.count == 1)
    }

    @Test func `With no server reachable the whole operation fails`() async throws {
        let database = CKContainer.scripted(ScriptedTransport(ScriptedTransport.isNotThere)).privateCloudDatabase
        let calls = Mutex(0)
        let code: CKError.Code? = await withCheckedContinuation { continuation in
            let operation = CKModifyRecordsOperation(recordsToSave: [record("a")])
            operation.perRecordSaveBlock = { _, _ in calls.withLock { $0 += 1 } }
            operation.modifyRecordsResultBlock = { result in
                guard case .failure(let error as CKError) = result else { return continuation.resume(returning: nil) }
                continuation.resume(returning: error.code)
            }
            database.add(operation)
        }
        #expect(code == .networkUnavailable)
        #expect(calls.withLock { $0 } == 0)
    }

    @Test func `B-BAT-07 a record saved twice fails the whole operation without contact`() async throws {
        let transport = ScriptedTransport(ScriptedTransport.savesAll)
        let database = CKContainer.scripted(transport).privateCloudDatabase
        let code = await withCheckedContinuation { continuation in
            let operation = CKModifyRecordsOperation(recordsToSave: [record("a"), record("a")])
            operation.modifyRecordsCompletionBlock = { _, _, error in
                continuation.resume(returning: (error as? CKError)?.code)
            }
            database.add(operation)
        }
        #expect(code == .invalidArguments)
        #expect(transport.requests.isEmpty)
    }

    @Test func `A cancelled operation ends with operationCancelled, waiting or running`() async throws {
        let running = AsyncStream.makeStream(of: Void.self)
        let transport = ScriptedTransport { _ in
            running.continuation.yield()
            try await Task.sleep(for: .seconds(60))
            return .records([])
        }
        let database = CKContainer.scripted(transport).privateCloudDatabase
        for isRunning in [true, false] {
            let operation = CKFetchRecordsOperation(recordIDs: ids("a"))
            let ended = AsyncStream.makeStream(of: CKError.Code?.self)
            operation.fetchRecordsCompletionBlock = { _, error in ended.continuation.yield((error as? CKError)?.code) }
            if isRunning {
                database.add(operation)
                var started = running.stream.makeAsyncIterator()
                await started.next()
                operation.cancel()
            } else {
                operation.cancel()
                database.add(operation)
            }
            var codes = ended.stream.makeAsyncIterator()
            #expect(await codes.next() == .operationCancelled)
        }
        #expect(transport.requests.count == 1)
    }

    @Test func `B-OPS-03 operations are single-use`() async throws {
        let transport = ScriptedTransport(ScriptedTransport.findsAll)
        let database = CKContainer.scripted(transport).privateCloudDatabase
        let operation = CKFetchRecordsOperation(recordIDs: ids("a"))
        let ended = AsyncStream.makeStream(of: Void.self)
        operation.completionBlock = { ended.continuation.yield() }
        database.add(operation)
        database.add(operation)
        var ends = ended.stream.makeAsyncIterator()
        await ends.next()
        database.add(operation)
        operation.start()
        #expect(operation.isFinished && !operation.isExecuting && operation.isAsynchronous)
        #expect(transport.requests.count == 1)
    }

    @Test func `An operation works on any queue, and without one`() async throws {
        let transport = ScriptedTransport(ScriptedTransport.findsAll)
        let database = CKContainer.scripted(transport).privateCloudDatabase
        for isQueued in [true, false] {
            await withCheckedContinuation { continuation in
                let operation = CKFetchRecordsOperation(recordIDs: ids("a"))
                operation.database = database
                operation.fetchRecordsResultBlock = { _ in continuation.resume() }
                if isQueued { OperationQueue().addOperation(operation) } else { operation.start() }
            }
        }
        #expect(transport.requests.count == 2)
    }

    @Test func `B-DB-15 an operation added to a container without a database works on the private one`() async throws {
        let transport = ScriptedTransport(ScriptedTransport.findsAll)
        let container = CKContainer.scripted(transport)
        await withCheckedContinuation { continuation in
            let operation = CKFetchRecordsOperation(recordIDs: ids("a"))
            operation.fetchRecordsResultBlock = { _ in continuation.resume() }
            container.add(operation)
        }
        #expect(transport.requests.first?.url.path.contains("/private/") == true)
    }

    @Test func `B-USR-02 the record of the current user is looked up by the name the cloud gives`() async throws {
        let transport = ScriptedTransport({ _ in .user("_0123") }, ScriptedTransport.findsAll)
        let database = CKContainer.scripted(transport).publicCloudDatabase
        let name = await withCheckedContinuation { continuation in
            let operation = CKFetchRecordsOperation.fetchCurrentUserRecordOperation()
            operation.perRecordCompletionBlock = { record, _, _ in
                continuation.resume(returning: record?.recordID.recordName)
            }
            database.add(operation)
        }
        #expect(name == "_0123")
    }

    @Test func `B-BAT-11 the token of the client travels with the save`() async throws {
        let transport = ScriptedTransport(ScriptedTransport.savesAll)
        let database = CKContainer.scripted(transport).privateCloudDatabase
        await withCheckedContinuation { continuation in
            let operation = CKModifyRecordsOperation(recordsToSave: [record("a")])
            operation.clientChangeTokenData = Data([1, 2, 3])
            operation.isAtomic = false
            operation.modifyRecordsResultBlock = { _ in continuation.resume() }
            database.add(operation)
        }
        let request = try #require(try transport.requests.first?.modification())
        #expect(request.clientChangeToken == [1, 2, 3])
        #expect(request.atomic == false)
    }

    @Test func `B-OPS-08 every record that is returned came from the server`() async throws {
        let versions = Mutex(0)
        let transport = ScriptedTransport { request in
            let version = versions.withLock { version in
                version += 1
                return version
            }
            return .records(
                try request.lookup().records.map { .record(.stored($0.recordName, tag: "\(version)")) })
        }
        let database = CKContainer.scripted(transport).privateCloudDatabase
        let id = CKRecord.ID(recordName: "a")
        let first = try await database.record(for: id)
        let second = try await database.record(for: id)
        #expect(first.recordChangeTag == "1" && second.recordChangeTag == "2")
        #expect(first !== second)
        #expect(transport.requests.count == 2)
    }

    @Test func `A subclass sets its arguments in main before it lets the work begin`() async throws {
        final class Upload: CKModifyRecordsOperation, @unchecked Sendable {
            override func main() {
                recordsToSave = [CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "late"))]
                super.main()
            }
        }
        let transport = ScriptedTransport(ScriptedTransport.savesAll)
        let database = CKContainer.scripted(transport).privateCloudDatabase
        await withCheckedContinuation { continuation in
            let operation = Upload()
            operation.modifyRecordsResultBlock = { _ in continuation.resume() }
            database.add(operation)
        }
        let request = try #require(try transport.requests.first?.modification())
        #expect(request.operations.map(\.change.recordName) == ["late"])
    }

    @Test func `A subclass that was cancelled before it started does no work`() async throws {
        final class Upload: CKModifyRecordsOperation, @unchecked Sendable {
            override func main() { Issue.record("A cancelled operation does not come to its work") }
        }
        let database = CKContainer.scripted(ScriptedTransport(ScriptedTransport.savesAll)).privateCloudDatabase
        let result: Result<Void, any Error> = await withCheckedContinuation { continuation in
            let operation = Upload(recordsToSave: [record("a")])
            operation.modifyRecordsResultBlock = { continuation.resume(returning: $0) }
            operation.cancel()
            database.add(operation)
        }
        #expect {
            try result.get()
        } throws: { error in
            (error as? CKError)?.code == .operationCancelled
        }
    }

    @Test func `A subclass replaces an operation by its own start`() {
        final class Canned: CKFetchRecordsOperation, @unchecked Sendable {
            override var isFinished: Bool { true }
            override func start() { fetchRecordsCompletionBlock?([:], CKError(.networkFailure)) }
        }
        let code = Mutex<CKError.Code?>(nil)
        let operation = Canned(recordIDs: ids("a"))
        operation.fetchRecordsCompletionBlock = { _, error in code.withLock { $0 = (error as? CKError)?.code } }
        operation.start()
        #expect(code.withLock { $0 } == .networkFailure)
    }
}
