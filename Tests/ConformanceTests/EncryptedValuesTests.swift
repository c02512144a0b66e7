import CloudKitEncryption
import CloudKitModel
import CloudKitServer
import Testing

@testable import CloudKit
@testable import CloudKitClient

/// Set a value on one device, read it on another, and the server never could.
@Suite(.timeLimit(.minutes(20))) struct EncryptedValuesTests {
    /// Between two milliseconds, as a clock's time is.
    private static let date = Date(timeIntervalSinceReferenceDate: 721_692_800.123_456_7)

    /// Two devices of one user and a zone.
    private func withTwoDevices(
        _ body: (ThrowawayCloud, ThrowawayCloud.User, CKDatabase, CKDatabase, CKRecordZone.ID) async throws -> Void
    ) async throws {
        try await ThrowawayCloud.run { cloud in
            let user = try await cloud.addUser("ada")
            let a = try await cloud.device(of: user, named: "a").privateCloudDatabase
            let b = try await cloud.device(of: user, named: "b").privateCloudDatabase
            let zone = try await a.save(CKRecordZone(zoneName: "Diary"))
            try await body(cloud, user, a, b, zone.zoneID)
        }
    }

    private func entry(_ name: String, in zoneID: CKRecordZone.ID) -> CKRecord {
        CKRecord(recordType: "Entry", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
    }

    private func fill(_ record: CKRecord) {
        let secrets = record.encryptedValues
        secrets["text"] = "Grüße, 世界 \u{1F30D} \"quoted\" \n"
        secrets["empty"] = ""
        secrets["whole"] = 42
        secrets["big"] = Int64.min
        secrets["fraction"] = 12.340000000000002
        secrets["flag"] = true
        secrets["day"] = Self.date
        secrets["data"] = Data([0, 1, 254, 255])
        secrets["place"] = CLLocation(latitude: 51.5, longitude: -0.12)
        secrets["texts"] = ["a", "b"]
        secrets["numbers"] = [1, 2, 3]
        secrets["fractions"] = [0.5, 1]
        secrets["days"] = [Self.date]
        secrets["blobs"] = [Data([1]), Data()]
        secrets["places"] = [CLLocation(latitude: 1, longitude: 2)]
    }

    private func check(_ record: CKRecord?, at location: SourceLocation = #_sourceLocation) throws {
        let record = try #require(record, sourceLocation: location)
        let secrets = record.encryptedValues
        #expect(secrets["text"] as? String == "Grüße, 世界 \u{1F30D} \"quoted\" \n", sourceLocation: location)
        #expect(secrets["empty"] as? String == "", sourceLocation: location)
        #expect(secrets["whole"] as? Int == 42, sourceLocation: location)
        #expect(secrets["big"] as? Int64 == .min, sourceLocation: location)
        #expect(secrets["fraction"] as? Double == 12.340000000000002, sourceLocation: location)
        #expect(secrets["flag"] as? Bool == true, sourceLocation: location)
        #expect(secrets["day"] as? Date == Self.date, sourceLocation: location)
        #expect(secrets["data"] as? Data == Data([0, 1, 254, 255]), sourceLocation: location)
        #expect((secrets["place"] as? CLLocation)?.coordinate.latitude == 51.5, sourceLocation: location)
        #expect(secrets["texts"] as? [String] == ["a", "b"], sourceLocation: location)
        #expect(secrets["numbers"] as? [Int] == [1, 2, 3], sourceLocation: location)
        #expect(secrets["fractions"] as? [Double] == [0.5, 1], sourceLocation: location)
        #expect(secrets["days"] as? [Date] == [Self.date], sourceLocation: location)
        #expect(secrets["blobs"] as? [Data] == [Data([1]), Data()], sourceLocation: location)
        #expect((secrets["places"] as? [CLLocation])?.first?.coordinate.longitude == 2, sourceLocation: location)
        #expect(secrets.allKeys().count == 15 && secrets.changedKeys().isEmpty, sourceLocation: location)
        #expect(record["text"] == nil && record.allKeys() == ["title"], sourceLocation: location)
    }

    @Test func `B-ENC-01 every type goes through every way of saving and reading`() async throws {
        try await withTwoDevices { cloud, _, a, b, zoneID in
            let record = entry("e1", in: zoneID)
            record["title"] = "Monday"
            fill(record)
            try check(try await a.save(record))
            try check(record)

            try check(try await b.record(for: record.recordID))
            try check(try await b.records(for: [record.recordID])[record.recordID]?.get())
            let query = CKQuery(recordType: "Entry", predicate: NSPredicate(format: "title == 'Monday'"))
            try check(try await b.records(matching: query, inZoneWith: zoneID).matchResults.first?.1.get())
            let changes = try await b.recordZoneChanges(inZoneWith: zoneID, since: nil)
            try check(try changes.modificationResultsByID[record.recordID]?.get().record)

            let fetch = CKFetchRecordsOperation(recordIDs: [record.recordID])
            let fetched = RequestQueue<CKRecord>()
            fetch.perRecordResultBlock = { fetched.put(try? $1.get()) }
            try check(await fetched.wait(for: fetch, on: b))
            let search = CKQueryOperation(query: query)
            search.zoneID = zoneID
            let found = RequestQueue<CKRecord>()
            search.recordMatchedBlock = { found.put(try? $1.get()) }
            try check(await found.wait(for: search, on: b))
            let feed = CKFetchRecordZoneChangesOperation(recordZoneIDs: [zoneID])
            let changed = RequestQueue<CKRecord>()
            feed.recordWasChangedBlock = { changed.put(try? $1.get()) }
            try check(await changed.wait(for: feed, on: b))

            let second = entry("e2", in: zoneID)
            second["title"] = "Tuesday"
            fill(second)
            let save = CKModifyRecordsOperation(recordsToSave: [second])
            let saved = RequestQueue<CKRecord>()
            save.perRecordSaveBlock = { saved.put(try? $1.get()) }
            try check(await saved.wait(for: save, on: b))
            let third = entry("e3", in: zoneID)
            third["title"] = "Wednesday"
            fill(third)
            try check(
                await withCheckedContinuation { continuation in
                    b.save(third) { record, _ in
                        continuation.resume(returning: record)
                    }
                })
            try check(
                await withCheckedContinuation { continuation in
                    a.fetch(withRecordID: third.recordID) { record, _ in
                        continuation.resume(returning: record)
                    }
                })
            try check(try await a.record(for: second.recordID))

            // The server holds neither of them.
            let address = DatabaseAddress(
                container: ContainerID(cloud.container), environment: .development, scope: .private)
            let stored = try await LookupRecords(cloud.cloud).run(
                LookupRecordsRequest(records: [.init(recordName: "e1")], zoneID: zoneID.model), in: address,
                by: Caller(user: try await a.requests().currentUser(), surface: .native))
            guard case .record(let held)? = stored.first else {
                Issue.record("not stored")
                return
            }
            #expect(held.fields.filter { $0.type.isEncrypted && $0.sealedEpoch == 0 }.count == 15)
            #expect(held.protection?.hasSameKeys(as: Protection(epoch: 0)) == true)
            let statement = try RecordStatement(#require(held.protection).statement)
            #expect(statement.values.count == 15)
        }
    }

    @Test func `B-ENC-05 desired and changed keys, removals and all three policies work field by field`() async throws {
        try await withTwoDevices { _, _, a, b, zoneID in
            let record = entry("e", in: zoneID)
            record["title"] = "x"
            record.encryptedValues["one"] = 1
            record.encryptedValues["two"] = 2
            record.encryptedValues["three"] = 3
            try await a.save(record)

            let partial = try #require(
                try await b.records(for: [record.recordID], desiredKeys: ["two"])[record.recordID]?.get())
            #expect(partial.encryptedValues.allKeys() == ["two"] && partial.allKeys().isEmpty)
            partial.encryptedValues["two"] = 22
            #expect(partial.encryptedValues.changedKeys() == ["two"] && partial.changedKeys().isEmpty)
            let saved = try await b.save(partial)
            #expect(saved.encryptedValues["two"] as? Int == 22 && saved.encryptedValues["three"] as? Int == 3)

            // System fields alone contain one key, also if the server holds more.
            let bare = try archived(saved) { $0.encodeSystemFields(with: $1) }
            #expect(bare.encryptedValues.allKeys().isEmpty)
            bare.encryptedValues["one"] = nil
            bare.encryptedValues["four"] = "4"
            let (changed, _) = try await b.modifyRecords(saving: [bare], deleting: [], savePolicy: .changedKeys)
            _ = try changed[record.recordID]?.get()

            // The first device still holds everything it had; its own keys win, the others stay (B-SAV-06).
            record.encryptedValues["three"] = 33
            let (all, _) = try await a.modifyRecords(saving: [record], deleting: [], savePolicy: .allKeys)
            _ = try all[record.recordID]?.get()
            let last = try await b.record(for: record.recordID)
            #expect(last.encryptedValues.allKeys() == ["four", "one", "three", "two"])
            #expect(last.encryptedValues["one"] as? Int == 1 && last.encryptedValues["two"] as? Int == 2)
            #expect(last.encryptedValues["three"] as? Int == 33 && last.encryptedValues["four"] as? String == "4")

            let fresh = entry("e", in: zoneID)
            fresh.encryptedValues["two"] = 2222
            let (forced, _) = try await b.modifyRecords(saving: [fresh], deleting: [], savePolicy: .changedKeys)
            #expect(try forced[record.recordID]?.get().encryptedValues["three"] as? Int == 33)
            let none = try await b.records(for: [record.recordID], desiredKeys: [])[record.recordID]?.get()
            #expect(none?.encryptedValues.allKeys() == [])
        }
    }

    private func archived(_ record: CKRecord, _ encode: (CKRecord, NSCoder) -> Void) throws -> CKRecord {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        encode(record, archiver)
        archiver.finishEncoding()
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
        unarchiver.requiresSecureCoding = true
        return try #require(CKRecord(coder: unarchiver))
    }

    @Test func `B-REC-04 an archive keeps encrypted values, their changes, and their protection`() async throws {
        try await withTwoDevices { _, _, a, b, zoneID in
            let parent = entry("p", in: zoneID)
            let record = entry("e", in: zoneID)
            record.setParent(parent)
            record.encryptedValues["one"] = 1
            record.encryptedValues["two"] = 2
            let (results, _) = try await a.modifyRecords(saving: [parent, record], deleting: [])
            let saved = try #require(try results[record.recordID]?.get())
            saved.encryptedValues["one"] = 11
            let again = try archived(saved) { $0.encode(with: $1) }
            #expect(again.encryptedValues["one"] as? Int == 11 && again.encryptedValues["two"] as? Int == 2)
            #expect(again.encryptedValues.changedKeys() == ["one"])
            #expect(
                again.system.protection == saved.system.protection && again.system.protection?.keys.isEmpty == false)
            try await b.save(again)
            let read = try await a.record(for: record.recordID)
            #expect(read.encryptedValues["one"] as? Int == 11 && read.encryptedValues["two"] as? Int == 2)
        }
    }

    @Test func `B-SAV-07 a conflict brings three opened records, and the merged one is saved`() async throws {
        try await withTwoDevices { _, _, a, b, zoneID in
            let record = entry("e", in: zoneID)
            record.encryptedValues["name"] = "Ada"
            record.encryptedValues["city"] = "London"
            let onA = try await a.save(record)
            let onB = try await b.record(for: record.recordID)
            onA.encryptedValues["city"] = "Paris"
            _ = try await a.save(onA)
            onB.encryptedValues["name"] = "Ada L."
            do {
                _ = try await b.save(onB)
                Issue.record("the tag is stale")
            } catch let error as CKError where error.code == .serverRecordChanged {
                let server = try #require(error.serverRecord)
                #expect(server.encryptedValues["city"] as? String == "Paris")
                #expect(server.encryptedValues["name"] as? String == "Ada")
                #expect(error.clientRecord?.encryptedValues["name"] as? String == "Ada L.")
                #expect(error.ancestorRecord?.encryptedValues["name"] as? String == "Ada")
                #expect(error.ancestorRecord?.encryptedValues["city"] as? String == "London")
                server.encryptedValues["name"] = "Ada L."
                let merged = try await b.save(server)
                #expect(merged.encryptedValues["city"] as? String == "Paris")
            }
            let last = try await a.record(for: record.recordID)
            #expect(last.encryptedValues["name"] as? String == "Ada L.")
            #expect(last.encryptedValues["city"] as? String == "Paris")
        }
    }

    @Test func `B-ENC-03 B-ENC-04 operations that encrypted fields do not support are refused by field name`()
        async throws
    {
        try await withTwoDevices { cloud, user, a, _, zoneID in
            let record = entry("e", in: zoneID)
            record["title"] = "x"
            record.encryptedValues["secret"] = "s"
            record.encryptedValues["numbers"] = [1.5]
            try await a.save(record)

            func refusal(_ change: (CKRecord) -> Void) async -> CKError? {
                let copy = record.copy() as? CKRecord ?? record
                change(copy)
                do {
                    _ = try await a.save(copy)
                    return nil
                } catch { return error as? CKError }
            }
            let both = await refusal { $0["secret"] = "plain" }
            #expect(both?.code == .invalidArguments && both?.localizedDescription.contains("'secret'") == true)
            let turned = await refusal { $0.encryptedValues["title"] = "t" }
            #expect(turned?.code == .invalidArguments && turned?.localizedDescription.contains("'title'") == true)
            let reference = await refusal {
                $0.encryptedValues["to"] = CKRecord.Reference(recordID: record.recordID, action: .none)
            }
            #expect(reference?.code == .invalidArguments && reference?.localizedDescription.contains("'to'") == true)
            let asset = await refusal { $0.encryptedValues["file"] = CKAsset(fileURL: URL(fileURLWithPath: "/x")) }
            #expect(asset?.code == .invalidArguments && asset?.localizedDescription.contains("'file'") == true)

            // The same by records that know nothing of each other.
            let other = entry("other", in: zoneID)
            other["secret"] = "plain"
            let plain = await #expect(throws: CKError.self) { _ = try await a.save(other) }
            #expect(plain?.localizedDescription.contains("defined to be: ENCRYPTED_STRING") == true)
            let reverse = entry("reverse", in: zoneID)
            reverse.encryptedValues["title"] = "t"
            let sealed = await #expect(throws: CKError.self) { _ = try await a.save(reverse) }
            #expect(
                sealed?.localizedDescription.contains("Attempt to save encrypted data in non encrypted field type")
                    == true)
            let typed = entry("typed", in: zoneID)
            typed.encryptedValues["secret"] = 5
            let mismatch = await #expect(throws: CKError.self) { _ = try await a.save(typed) }
            #expect(
                mismatch?.localizedDescription.contains(
                    "invalid attempt to set value type ENCRYPTED_INT64 for field 'secret' for type 'Entry', "
                        + "defined to be: ENCRYPTED_STRING") == true)

            // Whole numbers among doubles and empty lists are what their field says.
            let loose = entry("loose", in: zoneID)
            loose.encryptedValues["numbers"] = [1, 2]
            #expect(try await a.save(loose).encryptedValues["numbers"] as? [Double] == [1, 2])
            loose.encryptedValues["numbers"] = [Double]()
            try await a.save(loose)
            #expect(try await a.record(for: loose.recordID).encryptedValues["numbers"] as? [Double] == [])

            let query = CKQuery(recordType: "Entry", predicate: NSPredicate(format: "secret == 's'"))
            let asked = await #expect(throws: CKError.self) {
                _ = try await a.records(matching: query, inZoneWith: zoneID)
            }
            #expect(
                asked?.localizedDescription.contains(
                    "has a value type of ENCRYPTED_STRING and cannot be queried using filter type EQUALS") == true)

            let open = try await cloud.device(of: user).publicCloudDatabase
            let shown = CKRecord(recordType: "Entry")
            shown.encryptedValues["secret"] = "s"
            let refused = await #expect(throws: CKError.self) { _ = try await open.save(shown) }
            #expect(refused?.code == .invalidArguments && refused?.localizedDescription.contains("public") == true)
        }
    }

    @Test func `B-TM-05 a raised epoch is learned, and all values of a record are sealed again`() async throws {
        try await withTwoDevices { cloud, user, a, b, zoneID in
            let parent = entry("parent", in: zoneID)
            let record = entry("e", in: zoneID)
            record.setParent(parent)
            record.encryptedValues["one"] = 1
            record.encryptedValues["two"] = 2
            let simple = entry("simple", in: zoneID)
            simple["title"] = "plain"
            _ = try await a.modifyRecords(saving: [parent, record, simple], deleting: [])
            let onB = try #require(
                try await b.records(for: [record.recordID], desiredKeys: ["one"])[record.recordID]?.get())

            try await a.requests().raiseKeyEpoch(of: zoneID.model)
            // Old values are read as before.
            #expect(try await b.record(for: record.recordID).encryptedValues["two"] as? Int == 2)

            // The device knows nothing of the new epoch, nor of the field it did not fetch.
            onB.encryptedValues["one"] = 11
            let other = entry("new", in: zoneID)
            other.encryptedValues["one"] = 5
            let (results, _) = try await b.modifyRecords(saving: [onB, other, simple], deleting: [])
            #expect(try results[other.recordID]?.get().system.protection?.epoch == 1)
            let saved = try #require(try results[record.recordID]?.get())
            #expect(saved.system.protection?.epoch == 1)
            #expect(saved.encryptedValues["one"] as? Int == 11 && saved.encryptedValues["two"] as? Int == 2)
            let read = try await a.record(for: record.recordID)
            #expect(read.encryptedValues["two"] as? Int == 2)

            // The same where the server's record is overwritten without a look at its tag, and one by one.
            try await b.requests().raiseKeyEpoch(of: zoneID.model)
            let fresh = entry("e", in: zoneID)
            fresh.encryptedValues["two"] = 222
            let (forced, _) = try await a.modifyRecords(
                saving: [fresh, simple], deleting: [], savePolicy: .changedKeys, atomically: false)
            let last = try #require(try forced[record.recordID]?.get())
            #expect(last.encryptedValues["one"] as? Int == 11 && last.encryptedValues["two"] as? Int == 222)
            #expect(last.system.protection?.epoch == 2)
            // A third device that was never informed.
            let c = try await cloud.device(of: user, named: "c").privateCloudDatabase
            let third = try await c.record(for: record.recordID)
            third.encryptedValues["three"] = 3
            #expect(try await c.save(third).encryptedValues["one"] as? Int == 11)

            // A conflict is reported as a conflict in every epoch.
            read.encryptedValues["one"] = 0
            let conflict = await #expect(throws: CKError.self) { _ = try await a.save(read) }
            #expect(conflict?.code == .serverRecordChanged)
            #expect(conflict?.serverRecord?.encryptedValues["three"] as? Int == 3)
        }
    }

    @Test func `B-TM-11 a record that gets another parent is sealed for it`() async throws {
        try await withTwoDevices { _, _, a, b, zoneID in
            let first = entry("first", in: zoneID)
            let second = entry("second", in: zoneID)
            let record = entry("e", in: zoneID)
            record.setParent(first)
            record.encryptedValues["one"] = 1
            _ = try await a.modifyRecords(saving: [first, second, record], deleting: [])
            let wrapped = record.system.protection
            #expect(wrapped?.keys.isEmpty == false)
            let onB = try await b.record(for: record.recordID)
            onB.setParent(second)
            let moved = try await b.save(onB)
            #expect(moved.encryptedValues["one"] as? Int == 1)
            #expect(moved.system.protection != wrapped && moved.system.protection?.keys.isEmpty == false)
            moved.parent = nil
            #expect(try await b.save(moved).system.protection?.keys == [])
            #expect(try await a.record(for: record.recordID).encryptedValues["one"] as? Int == 1)
        }
    }

    @Test func `B-TM-12 a device without the keys learns so, and keeps everything it can read`() async throws {
        try await withTwoDevices { cloud, user, a, _, zoneID in
            let record = entry("e", in: zoneID)
            record["title"] = "x"
            record.encryptedValues["one"] = 1
            let plain = entry("plain", in: zoneID)
            plain["title"] = "x"
            let child = entry("child", in: zoneID)
            child.setParent(plain)
            _ = try await a.modifyRecords(saving: [record, plain], deleting: [])
            let lacking = try await cloud.device(of: user, named: "b", keys: .none).privateCloudDatabase
            let results = try await lacking.records(for: [record.recordID, plain.recordID])
            #expect(code(results[record.recordID]) == .accountTemporarilyUnavailable)
            #expect(try results[plain.recordID]?.get()["title"] as? String == "x")
            let titles = try await lacking.records(for: [record.recordID], desiredKeys: ["title"])
            #expect(try titles[record.recordID]?.get()["title"] as? String == "x")
            // A feed does not pass over what could be read later.
            await expect(.accountTemporarilyUnavailable) {
                _ = try await lacking.recordZoneChanges(inZoneWith: zoneID, since: nil)
            }
            let secret = entry("f", in: zoneID)
            secret.encryptedValues["one"] = 1
            await expect(.accountTemporarilyUnavailable) { try await lacking.save(secret) }
            // A save without values to seal does not wait for keys.
            try await lacking.save(child)

            // Another user's keys open nothing, and that is an error, never nil.
            let foreign = try await cloud.device(of: user, named: "c", keys: .others).privateCloudDatabase
            let opened = try await foreign.records(for: [record.recordID, plain.recordID])
            let error = #expect(throws: CKError.self) { _ = try opened[record.recordID]?.get() }
            #expect(error?.code == .internalError)
            #expect(error?.localizedDescription.contains("encrypted field 'one' does not open") == true)
            #expect(try opened[plain.recordID]?.get() != nil)
        }
    }

    @Test func `B-ZN-12 after a reset of keys the zone is gone for a reason, and the way back works`() async throws {
        try await withTwoDevices { cloud, _, a, b, zoneID in
            let record = entry("e", in: zoneID)
            record.encryptedValues["one"] = 1
            try await a.save(record)
            let token = try await b.databaseChanges(since: nil).changeToken
            try await EndZone(cloud.cloud).resetKeys(
                ofZone: zoneID.zoneName, of: try await a.requests().currentUser(), in: ContainerID(cloud.container),
                .development)

            for attempt in 0..<3 {
                let error = await #expect(throws: CKError.self) {
                    switch attempt {
                    case 0: _ = try await b.record(for: record.recordID)
                    case 1: _ = try await b.recordZoneChanges(inZoneWith: zoneID, since: nil)
                    default:
                        record.encryptedValues["one"] = 2
                        _ = try await a.save(record)
                    }
                }
                #expect(error?.code == .zoneNotFound)
                #expect((error?.userInfo[CKErrorUserDidResetEncryptedDataKey] as? NSNumber)?.boolValue == true)
            }
            let changes = try await b.databaseChanges(since: token)
            #expect(changes.deletions.map(\.reason) == [.encryptedDataReset])
            let feed = CKFetchDatabaseChangesOperation(previousServerChangeToken: token)
            let reset = RequestQueue<CKRecordZone.ID>()
            feed.recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock = { reset.put($0) }
            #expect(await reset.wait(for: feed, on: b) == zoneID)

            _ = try await a.deleteRecordZone(withID: zoneID)
            _ = try await a.save(CKRecordZone(zoneID: zoneID))
            let again = entry("e", in: zoneID)
            again.encryptedValues["one"] = record.encryptedValues["one"]
            try await a.save(again)
            #expect(try await b.record(for: again.recordID).encryptedValues["one"] as? Int == 2)
        }
    }
}

/// Collects the results of an operation's block and returns them when the operation has finished.
private final class RequestQueue<Value> {
    private var value: Value?

    func put(_ value: Value?) { self.value = value }

    func wait(for operation: CKDatabaseOperation, on database: CKDatabase) async -> Value? {
        await withCheckedContinuation { continuation in
            operation.completionBlock = { continuation.resume() }
            database.add(operation)
        }
        return value
    }
}
