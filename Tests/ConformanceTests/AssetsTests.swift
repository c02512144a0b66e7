import CloudKitTesting
import FaultyNetwork
import FileStore
import Foundation
import Synchronization
import Testing

@testable import CloudKit
@testable import CloudKitClient

/// Files of records, from one device to another through a running cloud.
@Suite(.timeLimit(.minutes(20))) struct AssetsTests {
    private func allContents(_ record: CKRecord?) throws -> [[UInt8]] {
        let record = try #require(record)
        return try [contents(record["photo"])] + (record["pages"] as? [CKAsset] ?? []).map(contents)
    }

    @Test func `B-CHG-15 a change whose file is missing fails alone, and the token advances`() async throws {
        let stored = MemoryFileStore(now: { 0 })
        try await ThrowawayCloud.run(files: stored) { cloud in
            let files = try TestFiles()
            let user = try await cloud.addUser("ada")
            let a = try await cloud.device(of: user, named: "a").privateCloudDatabase
            let b = try await cloud.device(of: user, named: "b").privateCloudDatabase
            let zone = try await a.save(CKRecordZone(zoneName: "Photos")).zoneID
            let lost = CKRecord(recordType: "Photo", recordID: .init(recordName: "lost", zoneID: zone))
            lost["photo"] = try files.asset("photo", 200_000)
            try await a.save(lost)
            for folder in UInt8.min...UInt8.max {
                for file in stored.files(inFolder: folder) { stored.delete(file.id) }
            }
            let good = CKRecord(recordType: "Photo", recordID: .init(recordName: "good", zoneID: zone))
            good["title"] = "sea"
            try await a.save(good)
            let changes = try await b.recordZoneChanges(inZoneWith: zone, since: nil)
            #expect(try changes.modificationResultsByID[good.recordID]?.get().record["title"] as? String == "sea")
            let error = #expect(throws: CKError.self) { try changes.modificationResultsByID[lost.recordID]?.get() }
            #expect(error?.code == .assetNotAvailable)
            let next = try await b.recordZoneChanges(inZoneWith: zone, since: changes.changeToken)
            #expect(next.modificationResultsByID.isEmpty && !next.moreComing)
        }
    }

    @Test func `B-AST-01 every way of reading brings the files of a record`() async throws {
        try await ThrowawayCloud.run { cloud in
            let files = try TestFiles()
            let user = try await cloud.addUser("ada")
            let a = try await cloud.device(of: user, named: "a", pieceBytes: 50_000).privateCloudDatabase
            let b = try await cloud.device(of: user, named: "b", pieceBytes: 50_000).privateCloudDatabase
            let zone = try await a.save(CKRecordZone(zoneName: "Photos"))
            let record = CKRecord(recordType: "Photo", recordID: .init(recordName: "p1", zoneID: zone.zoneID))
            record["title"] = "sea"
            record["photo"] = try files.asset("photo", 200_000)
            record["pages"] = [try files.asset("one", 10), try files.asset("none", 0), try files.asset("two", 70_000)]
            try await a.save(record)

            let whole = [
                TestFiles.bytes("photo", 200_000), TestFiles.bytes("one", 10), [], TestFiles.bytes("two", 70_000),
            ]
            #expect(try allContents(try await b.record(for: record.recordID)) == whole)
            let query = CKQuery(recordType: "Photo", predicate: NSPredicate(format: "title == %@", "sea"))
            let matches = try await b.records(matching: query, inZoneWith: zone.zoneID).matchResults
            #expect(try allContents(try matches.first?.1.get()) == whole)
            let changes = try await b.recordZoneChanges(inZoneWith: zone.zoneID, since: nil)
            #expect(try allContents(try changes.modificationResultsByID[record.recordID]?.get().record) == whole)

            let found = Mutex<[[[UInt8]]]>([])
            @Sendable func note(_ record: CKRecord?) {
                let contents = (try? allContents(record)) ?? []
                found.withLock { $0.append(contents) }
            }
            let (id, zoneID) = (record.recordID, zone.zoneID)
            await withCheckedContinuation { continuation in
                let search = CKQueryOperation(query: query)
                search.zoneID = zoneID
                search.recordMatchedBlock = { _, result in note(try? result.get()) }
                let changes = CKFetchRecordZoneChangesOperation(recordZoneIDs: [zoneID])
                changes.recordWasChangedBlock = { _, result in note(try? result.get()) }
                changes.addDependency(search)
                let fetch = CKFetchRecordsOperation(recordIDs: [id])
                fetch.perRecordResultBlock = { _, result in note(try? result.get()) }
                fetch.addDependency(changes)
                fetch.fetchRecordsResultBlock = { _ in
                    b.fetch(withRecordID: id) { record, _ in
                        note(record)
                        continuation.resume()
                    }
                }
                for operation in [search, changes, fetch] as [CKDatabaseOperation] { b.add(operation) }
            }
            #expect(found.withLock { $0 } == [whole, whole, whole, whole])
        }
    }

    @Test func `B-AST-01 in the public database another user reads the file`() async throws {
        try await ThrowawayCloud.run { cloud in
            let files = try TestFiles()
            let a = try await cloud.device(of: cloud.addUser("ada")).publicCloudDatabase
            let record = CKRecord(recordType: "Photo", recordID: .init(recordName: "p"))
            record["photo"] = try files.asset("photo", 100_000)
            try await a.save(record)
            let b = try await cloud.device(of: cloud.addUser("eve")).publicCloudDatabase
            #expect(
                try contents(try await b.record(for: record.recordID)["photo"]) == TestFiles.bytes("photo", 100_000))
            let stranger = cloud.strangersDevice().publicCloudDatabase
            #expect(
                try contents(try await stranger.record(for: record.recordID)["photo"])
                    == TestFiles.bytes("photo", 100_000))
        }
    }

    @Test func `Files get there over a network that breaks all the time`() async throws {
        try await ThrowawayCloud.run { cloud in
            let files = try TestFiles()
            let user = try await cloud.addUser("ada")
            let clock = ClientClock(now: { .zero }, sleep: { _ in }, random: { 0.5 })
            let network = FaultyTransport(over: HTTPTransport.shared, clientEnvironment: clock)
            let count = Mutex(0)
            network.decide { request in
                guard request.url.path.hasPrefix("/assets") else { return nil }
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                // Never three in a row.
                return switch number % 5 {
                case 1: .requestLost
                case 2: .answerLost
                case 4: request.method == .get ? .cut(after: 10) : .doubled
                default: nil
                }
            }
            let container = try await cloud.device(
                of: user, over: network, clientEnvironment: clock, pieceBytes: 20_000)
            let database = container.privateCloudDatabase
            let record = CKRecord(recordType: "Photo")
            record["photo"] = try files.asset("photo", 150_000)
            // Discretionary work tries more often.
            let configuration = CKOperation.Configuration()
            configuration.qualityOfService = .utility
            try await database.configuredWith(configuration: configuration) { database in
                _ = try await database.save(record)
                network.decide { request in
                    guard request.method == .get else { return nil }
                    return count.withLock { count in
                        count += 1
                        return count % 3 == 0 ? .answerLost : nil
                    }
                }
                let read = try await database.record(for: record.recordID)
                #expect(try contents(read["photo"]) == TestFiles.bytes("photo", 150_000))
            }
            #expect(network.injectedFaults.count > 8)
        }
    }

    /// As above, with real connections and every fault there is.
    @Test(arguments: 0..<3)
    func `B-THR-07 files and records get there by way of a proxy that does everything a network can do`(seed: Int)
        async throws
    {
        try await ThrowawayCloud.run { cloud in
            let files = try TestFiles()
            let user = try await cloud.addUser("ada")
            let clock = TestClock(skipsWaits: false)
            let dice = FaultDice(seed: UInt64(seed), faults: NetworkFaultTests.faults, oneIn: 3)
            try await FaultyProxy.run(
                before: cloud.port, clientEnvironment: clock.clientEnvironment, decide: { _ in dice.roll() }
            ) { proxy, endpoint in
                let phone = try await cloud.device(
                    of: user, at: endpoint, clientEnvironment: clock.clientEnvironment, pieceBytes: 20_000
                ).privateCloudDatabase
                try await clock.running {
                    for number in 0..<5 {
                        try await insist(clock) {
                            let record = CKRecord(recordType: "Photo", recordID: .init(recordName: "p\(number)"))
                            record["photo"] = try files.asset("photo\(number)", 90_000)
                            // It makes no difference whether an earlier attempt succeeded.
                            _ = try await phone.modifyRecords(saving: [record], deleting: [], savePolicy: .allKeys)
                                .saveResults[record.recordID]?.get()
                        }
                    }
                    for number in 0..<5 {
                        try await insist(clock) {
                            let photo = try await phone.record(for: .init(recordName: "p\(number)"))["photo"]
                            #expect(try contents(photo) == TestFiles.bytes("photo\(number)", 90_000))
                        }
                    }
                }
                #expect(proxy.injectedFaults.count > 10)
            }
        }
    }

    /// Tries until it works, as an app does that has all the time of this clock.
    private func insist(_ clock: TestClock, _ body: () async throws -> Void) async throws {
        var last: (any Error)?
        for _ in 0..<200 {
            do {
                return try await body()
            } catch {
                last = error
                try await clock.clientEnvironment.sleep(.seconds(5))
            }
        }
        if let last { throw last }
    }

    @Test func `A save that is cancelled in the middle of a file saves nothing, and can be made again`() async throws {
        try await ThrowawayCloud.run { cloud in
            let files = try TestFiles()
            let database = try await cloud.device(of: cloud.addUser("ada"), pieceBytes: 20_000).privateCloudDatabase
            let record = CKRecord(recordType: "Photo")
            record["photo"] = try files.asset("photo", 200_000)
            let ended: CKError.Code? = await withCheckedContinuation { continuation in
                let operation = CKModifyRecordsOperation(recordsToSave: [record])
                operation.perRecordProgressBlock = { _, fraction in if fraction > 0.2 { operation.cancel() } }
                operation.modifyRecordsResultBlock = { result in
                    guard case .failure(let error as CKError) = result else {
                        return continuation.resume(returning: nil)
                    }
                    continuation.resume(returning: error.code)
                }
                database.add(operation)
            }
            #expect(ended == .operationCancelled)
            #expect(await code { _ = try await database.record(for: record.recordID) } == .unknownItem)
            try await database.save(record)
            #expect(
                try contents(try await database.record(for: record.recordID)["photo"])
                    == TestFiles.bytes("photo", 200_000))
        }
    }

    @Test func `B-AST-02 B-AST-03 an asset goes on in another record when the first one is gone`() async throws {
        try await ThrowawayCloud.run { cloud in
            let files = try TestFiles()
            let user = try await cloud.addUser("ada")
            let database = try await cloud.device(of: user).privateCloudDatabase
            let other = try await cloud.device(of: user, named: "other").privateCloudDatabase
            let first = CKRecord(recordType: "Photo", recordID: .init(recordName: "first"))
            first["photo"] = try files.asset("photo", 1000)
            try await database.save(first)
            let second = CKRecord(recordType: "Photo", recordID: .init(recordName: "second"))
            second["cover"] = try await database.record(for: first.recordID)["photo"]
            try await database.save(second)
            try await database.deleteRecord(withID: first.recordID)
            let read = try await other.record(for: second.recordID)
            #expect(try contents(read["cover"]) == TestFiles.bytes("photo", 1000))
            // Into another field of the same record, and out of the first.
            read["photo"] = read["cover"]
            read["cover"] = nil
            try await other.save(read)
            let again = try await database.record(for: second.recordID)
            #expect(again["cover"] == nil)
            #expect(try contents(again["photo"]) == TestFiles.bytes("photo", 1000))
        }
    }

    @Test func `B-SAV-08 a conflict's record has assets without files, and the merged one is saved`() async throws {
        try await ThrowawayCloud.run { cloud in
            let files = try TestFiles()
            let user = try await cloud.addUser("ada")
            let a = try await cloud.device(of: user, named: "a").privateCloudDatabase
            let b = try await cloud.device(of: user, named: "b").privateCloudDatabase
            let record = CKRecord(recordType: "Photo", recordID: .init(recordName: "p"))
            record["photo"] = try files.asset("photo", 1000)
            try await a.save(record)
            let onB = try await b.record(for: record.recordID)
            record["title"] = "a"
            try await a.save(record)
            onB["photo"] = try files.asset("other", 500)
            do {
                try await b.save(onB)
                Issue.record("the tag is stale")
            } catch let error as CKError where error.code == .serverRecordChanged {
                let server = try #require(error.serverRecord)
                #expect((server["photo"] as? CKAsset)?.fileURL == nil)
                server["photo"] = error.clientRecord?["photo"] as? CKAsset
                try await b.save(server)
            }
            let final = try await a.record(for: record.recordID)
            #expect(final["title"] as? String == "a")
            #expect(try contents(final["photo"]) == TestFiles.bytes("other", 500))
        }
    }

    @Test func `B-TM-05 a new key epoch takes the keys of files along`() async throws {
        try await ThrowawayCloud.run { cloud in
            let files = try TestFiles()
            let user = try await cloud.addUser("ada")
            let a = try await cloud.device(of: user, named: "a").privateCloudDatabase
            let b = try await cloud.device(of: user, named: "b").privateCloudDatabase
            let zone = try await a.save(CKRecordZone(zoneName: "Photos"))
            let record = CKRecord(recordType: "Photo", recordID: .init(recordName: "p", zoneID: zone.zoneID))
            record["photo"] = try files.asset("photo", 1000)
            record["pages"] = [try files.asset("one", 10), try files.asset("two", 20)]
            try await a.save(record)
            try await a.requests().raiseKeyEpoch(of: zone.zoneID.model)
            record.encryptedValues["note"] = "secret"
            try await a.save(record)
            let read = try await b.record(for: record.recordID)
            #expect(read.encryptedValues["note"] as? String == "secret")
            #expect(
                try allContents(read) == [
                    TestFiles.bytes("photo", 1000), TestFiles.bytes("one", 10), TestFiles.bytes("two", 20),
                ])
        }
    }

    @Test func `B-AST-05 B-BAT-04 a missing file is the matter of one record`() async throws {
        try await ThrowawayCloud.run { cloud in
            let files = try TestFiles()
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let missing = CKRecord(recordType: "Photo")
            missing["photo"] = CKAsset(fileURL: files.folder.appendingPathComponent("nowhere"))
            let good = CKRecord(recordType: "Photo")
            good["photo"] = try files.asset("photo", 10)
            let results = try await database.modifyRecords(saving: [missing, good], deleting: []).saveResults
            guard case .failure(let error as CKError) = results[missing.recordID] else {
                Issue.record("there is no such file")
                return
            }
            #expect(error.code == .assetFileNotFound)
            #expect(
                try contents(try await database.record(for: good.recordID)["photo"]) == TestFiles.bytes("photo", 10))
        }
    }
}
