import CloudKitModel
import Foundation
import Testing

@testable import CloudKit
@testable import CloudKitClient

/// The errors that apps meet, as an app meets them: code, the code beneath it, and what it says.
@Suite(.timeLimit(.minutes(20))) struct ErrorTableTests {
    private static let older: any OlderForms = OlderCode()

    /// A device with a zone `Z` in its private database.
    private func withApp(_ body: (ThrowawayCloud, CKContainer, CKDatabase) async throws -> Void) async throws {
        try await ThrowawayCloud.run { cloud in
            let container = try await cloud.device(of: cloud.addUser("ada"))
            try await container.privateCloudDatabase.save(CKRecordZone(zoneName: "Z"))
            try await body(cloud, container, container.privateCloudDatabase)
        }
    }

    private func note(_ name: String, _ fields: [String: any CKRecordValueProtocol] = [:]) -> CKRecord {
        let zone = CKRecordZone.ID(zoneName: "Z")
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        for (key, value) in fields { record[key] = value }
        return record
    }

    /// Checks the error that the body ends with.
    private func expect(
        _ code: CKError.Code, _ subcode: Int? = nil, saying text: String = "",
        sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
    ) async {
        do {
            try await body()
            Issue.record("no error", sourceLocation: sourceLocation)
        } catch {
            let error = error as? CKError
            #expect(error?.code == code, sourceLocation: sourceLocation)
            #expect(error?.subcode == subcode, sourceLocation: sourceLocation)
            #expect(
                text.isEmpty || error?.localizedDescription.contains(text) == true,
                "\(error?.localizedDescription ?? "")", sourceLocation: sourceLocation)
        }
    }

    @Test func `B-ERR-01, B-ERR-13 one bad record fails its batch, and each of its records says how`() async throws {
        try await withApp { _, _, database in
            let record = try await database.save(note("R", ["text": "a"]))
            let fresh = note("R", ["text": "b"])
            let bystander = note("S")
            let error = await Self.older.error(ofSaving: [fresh, bystander], in: database)
            #expect(error?.code == .partialFailure && error?.subcode == 1011)
            #expect(error?.localizedDescription == "Failed to modify some records")
            let items = try #require(error?.partialErrorsByItemID)
            await expect(.serverRecordChanged, 2004, saying: "record to insert already exists") {
                throw try #require(items[record.recordID])
            }
            await expect(
                .batchRequestFailed, 2024, saying: "will not be saved because of previous error in atomic zone"
            ) {
                throw try #require(items[bystander.recordID])
            }
        }
    }

    @Test func `B-ERR-04 no user is signed in`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database = cloud.strangersDevice().privateCloudDatabase
            await expect(.notAuthenticated) { _ = try await database.allRecordZones() }
        }
    }

    @Test func `B-ERR-05, B-PRT-10 a reader may not write`() async throws {
        try await SharingHousehold.run { home in
            let (zone, folder, notes) = try await home.makeFolder()
            let share = CKShare(rootRecord: folder)
            share.publicPermission = .readOnly
            let saved = try await home.save(share, with: folder)
            _ = try await home.accept(saved.url, on: home.ben)
            let database = home.ben.sharedCloudDatabase
            let place = try await home.shared(zone)
            let seen = try await database.record(
                for: CKRecord.ID(recordName: notes[0].recordID.recordName, zoneID: place))
            seen["title"] = "mine"
            await expect(.permissionFailure, 2007, saying: "WRITE operation not permitted") {
                try await database.save(seen)
            }
        }
    }

    @Test func `B-ERR-06 a missing item is unknown`() async throws {
        try await withApp { _, _, database in
            await expect(.unknownItem, 2003) { _ = try await database.record(for: self.note("nothing").recordID) }
            let record = try await database.save(note("R"))
            try await database.deleteRecord(withID: record.recordID)
            record["text"] = "late"
            await expect(.unknownItem, 2003, saying: "recordChangeTag specified, but record not found") {
                try await database.save(record)
            }
        }
    }

    @Test func `B-ERR-07 a value of another type than the field's is refused`() async throws {
        try await withApp { _, _, database in
            try await database.save(note("R", ["text": "a"]))
            await expect(.invalidArguments, 2006, saying: "invalid attempt to set value type") {
                try await database.save(self.note("S", ["text": 5]))
            }
        }
    }

    @Test func `B-ERR-09 invalid arguments are refused before anything is sent`() async throws {
        try await withApp { _, container, database in
            let record = note("R")
            await expect(.invalidArguments, saying: "save the same record twice") {
                _ = try await database.modifyRecords(saving: [record, self.note("R")], deleting: [])
            }
            await expect(.invalidArguments) {
                _ = try await database.modifyRecords(saving: [record], deleting: [record.recordID])
            }
            await expect(.invalidArguments, saying: "share") { try await database.save(CKShare(rootRecord: record)) }
            await expect(.invalidArguments) {
                _ = try await container.sharedCloudDatabase.save(CKRecordZone(zoneName: "Mine"))
            }
        }
    }

    @Test func `B-USR-03 users are looked up by name, never by a query`() async throws {
        try await ThrowawayCloud.run { cloud in
            let device = SigningDevice(cloud)
            _ = try await device.signUp("correct horse")
            let container = device.container
            let query = CKQuery(recordType: "Users", predicate: NSPredicate(value: true))
            await expect(.invalidArguments, saying: "Can't query system types") {
                _ = try await container.publicCloudDatabase.records(matching: query)
            }
            let user = try await container.userRecordID()
            #expect(try await container.publicCloudDatabase.record(for: user).recordType == "Users")
        }
    }

    @Test func `B-ERR-10 the second of two writers of a record gets the conflict`() async throws {
        try await withApp { _, _, database in
            let record = try await database.save(note("R", ["text": "a"]))
            let other = try await database.record(for: record.recordID)
            record["text"] = "b"
            try await database.save(record)
            other["text"] = "c"
            await expect(.serverRecordChanged, 2004, saying: "client oplock error updating record") {
                try await database.save(other)
            }
        }
    }

    @Test func `B-ERR-12, B-ERR-18 tokens expire, and a zone is purged by its user`() async throws {
        try await withApp { cloud, _, database in
            let zone = CKRecordZone.ID(zoneName: "Z")
            let token = try await database.recordZoneChanges(inZoneWith: zone, since: nil).changeToken
            let operators = try await cloud.makeOperator()
            try await operators.order("zones/purge", #"{"email":"ada@example.com","zone":"Z"}"#)
            await expect(.userDeletedZone, saying: "Zone was purged by user") {
                _ = try await database.record(for: self.note("R").recordID)
            }
            try await database.save(CKRecordZone(zoneID: zone))
            await expect(.changeTokenExpired, 2026, saying: "client knowledge differs from server knowledge") {
                _ = try await database.recordZoneChanges(inZoneWith: zone, since: token)
            }
        }
    }

    @Test func `B-ERR-15, B-ERR-16 the quota is used up, and zones are missing`() async throws {
        try await withApp { cloud, _, database in
            await expect(.zoneNotFound, 2036) {
                _ = try await database.recordZone(for: CKRecordZone.ID(zoneName: "Nowhere"))
            }
            let operators = try await cloud.makeOperator()
            try await operators.order("faults/order", #"{"kind":"quota","email":"ada@example.com","bytes":1}"#)
            await expect(.quotaExceeded, 2035, saying: "Quota exceeded") { try await database.save(self.note("R")) }
        }
    }

    @Test func `B-ERR-17 too many items and too large records are over the limit`() async throws {
        try await withApp { _, _, database in
            let many = (0...400).map { note("R\($0)") }
            await expect(.limitExceeded, 1020, saying: "Your request contains 401 items") {
                _ = try await database.modifyRecords(saving: many, deleting: [])
            }
            let large = note("R", ["data": Data(repeating: 1, count: 1_100_000)])
            await expect(.limitExceeded, 2023, saying: "record too large") { try await database.save(large) }
        }
    }

    @Test func `B-ERR-19, B-SHR-10 references are checked, and a shared record cannot be shared again`() async throws {
        try await withApp { _, _, database in
            let child = note("Child")
            child.parent = CKRecord.Reference(recordID: note("Nobody").recordID, action: .none)
            await expect(.referenceViolation) { try await database.save(child) }
            let root = try await database.save(note("Root"))
            _ = try await database.modifyRecords(saving: [root, CKShare(rootRecord: root)], deleting: [])
            let again = try await database.record(for: root.recordID)
            let second = CKShare(rootRecord: again)
            let error = await #expect(throws: CKError.self) {
                try await database.modifyRecords(saving: [again, second], deleting: [])
            }
            let errors = error?.partialErrorsByItemID ?? [:]
            #expect(errors.values.contains { ($0 as? CKError)?.code == .alreadyShared })
        }
    }
}

/// Tests cannot be deprecated themselves; they call deprecated forms through a protocol.
private protocol OlderForms: Sendable {
    func error(ofSaving records: [CKRecord], in database: CKDatabase) async -> CKError?
}

private struct OlderCode: OlderForms {
    @available(*, deprecated)
    func error(ofSaving records: [CKRecord], in database: CKDatabase) async -> CKError? {
        await withCheckedContinuation { continuation in
            let operation = CKModifyRecordsOperation(recordsToSave: records)
            operation.modifyRecordsCompletionBlock = { _, _, error in
                continuation.resume(returning: error as? CKError)
            }
            database.add(operation)
        }
    }
}
