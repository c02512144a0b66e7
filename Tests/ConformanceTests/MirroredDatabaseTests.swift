import CloudKit
import Testing

/// Functions of databases as a library repeats them that wants to put another database in their place: without `@Sendable`.
private protocol MirroredDatabase {
    func fetch(withRecordID recordID: CKRecord.ID, completionHandler: @escaping (CKRecord?, (any Error)?) -> Void)
    func save(_ record: CKRecord, completionHandler: @escaping (CKRecord?, (any Error)?) -> Void)
    func delete(withRecordID recordID: CKRecord.ID, completionHandler: @escaping (CKRecord.ID?, (any Error)?) -> Void)
    func fetchAllRecordZones(completionHandler: @escaping ([CKRecordZone]?, (any Error)?) -> Void)
    func fetch(
        withRecordZoneID zoneID: CKRecordZone.ID, completionHandler: @escaping (CKRecordZone?, (any Error)?) -> Void)
    func save(_ zone: CKRecordZone, completionHandler: @escaping (CKRecordZone?, (any Error)?) -> Void)
    func delete(
        withRecordZoneID zoneID: CKRecordZone.ID, completionHandler: @escaping (CKRecordZone.ID?, (any Error)?) -> Void)
    func fetchAllSubscriptions(completionHandler: @escaping ([CKSubscription]?, (any Error)?) -> Void)
    func fetch(
        withSubscriptionID subscriptionID: CKSubscription.ID,
        completionHandler: @escaping (CKSubscription?, (any Error)?) -> Void)
    func save(_ subscription: CKSubscription, completionHandler: @escaping (CKSubscription?, (any Error)?) -> Void)
    func delete(
        withSubscriptionID subscriptionID: CKSubscription.ID,
        completionHandler: @escaping (String?, (any Error)?) -> Void)
}

extension CKDatabase: MirroredDatabase {}

/// The same with handlers that are `@Sendable`, and functions without a handler.
private protocol SendableMirror: Sendable {
    func fetch(
        withRecordID recordID: CKRecord.ID, completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void)
    func save(_ record: CKRecord, completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void)
    func save(_ zone: CKRecordZone, completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void)
    func fetch(
        withRecordIDs recordIDs: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]?,
        completionHandler: @escaping @Sendable (Result<[CKRecord.ID: Result<CKRecord, any Error>], any Error>) -> Void)
    func add(_ operation: CKDatabaseOperation)
}

extension CKDatabase: SendableMirror {}

/// Protocols that mirror `CKDatabase` are satisfied by empty extensions, also in the Swift 6 language mode; the file compiles in it.
@Suite(.timeLimit(.minutes(20))) struct MirroredDatabaseTests {
    /// Waits for the value that a function gives its handler.
    private func value<Value: Sendable>(
        _ call: (@escaping (Value?, (any Error)?) -> Void) -> Void
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            call { continuation.resume(with: Self.result($0, $1)) }
        }
    }

    private static func result<Value>(_ value: Value?, _ error: (any Error)?) -> Result<Value, any Error> {
        Result {
            if let error { throw error }
            return try #require(value)
        }
    }

    @Test func `a library's protocol without Sendable handlers reaches the database`() async throws {
        try await ThrowawayCloud.run { cloud in
            let database: any MirroredDatabase = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let zoneID = CKRecordZone.ID(zoneName: "Notes")
            let recordID = CKRecord.ID(recordName: "n", zoneID: zoneID)
            let zone: CKRecordZone = try await value {
                database.save(CKRecordZone(zoneID: zoneID), completionHandler: $0)
            }
            #expect(zone.zoneID == zoneID)
            let note = CKRecord(recordType: "Note", recordID: recordID)
            note["text"] = "hello"
            let saved: CKRecord = try await value { database.save(note, completionHandler: $0) }
            #expect(saved.recordChangeTag != nil)
            let fetched: CKRecord = try await value { database.fetch(withRecordID: recordID, completionHandler: $0) }
            #expect(fetched["text"] == "hello")
            let found: CKRecordZone = try await value {
                database.fetch(withRecordZoneID: zoneID, completionHandler: $0)
            }
            #expect(found.zoneID == zoneID)
            let all: [CKRecordZone] = try await value { database.fetchAllRecordZones(completionHandler: $0) }
            #expect(all.contains { $0.zoneID == zoneID })

            let subscription = CKDatabaseSubscription(subscriptionID: "all")
            let kept: CKSubscription = try await value { database.save(subscription, completionHandler: $0) }
            #expect(kept.subscriptionID == "all")
            let one: CKSubscription = try await value {
                database.fetch(withSubscriptionID: "all", completionHandler: $0)
            }
            #expect(one.subscriptionID == "all")
            let some: [CKSubscription] = try await value { database.fetchAllSubscriptions(completionHandler: $0) }
            #expect(some.count == 1)
            let ended: String = try await value { database.delete(withSubscriptionID: "all", completionHandler: $0) }
            #expect(ended == "all")

            let gone: CKRecord.ID = try await value { database.delete(withRecordID: recordID, completionHandler: $0) }
            #expect(gone == recordID)
            await #expect(throws: CKError.self) {
                let _: CKRecord = try await value { database.fetch(withRecordID: recordID, completionHandler: $0) }
            }
            let removed: CKRecordZone.ID = try await value {
                database.delete(withRecordZoneID: zoneID, completionHandler: $0)
            }
            #expect(removed == zoneID)
        }
    }

    @Test func `a protocol with Sendable handlers reaches the database, as calls do`() async throws {
        try await ThrowawayCloud.run { cloud in
            let device = try await cloud.device(of: cloud.addUser("ada"))
            let mirror: any SendableMirror = device.privateCloudDatabase
            let recordID = CKRecord.ID(recordName: "n")
            let saved = try await withCheckedThrowingContinuation { continuation in
                mirror.save(CKRecord(recordType: "Note", recordID: recordID)) {
                    continuation.resume(with: Self.result($0, $1))
                }
            }
            #expect(saved.recordID == recordID)
            let fetched = try await withCheckedThrowingContinuation { continuation in
                device.privateCloudDatabase.fetch(withRecordID: recordID) {
                    continuation.resume(with: Self.result($0, $1))
                }
            }
            #expect(fetched.recordType == "Note")
        }
    }
}
