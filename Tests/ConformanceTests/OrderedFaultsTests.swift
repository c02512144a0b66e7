import CloudKit
import Testing

/// An app's test that injects faults into a running cloud over HTTP (docs/admin-api.md), and the errors that the app
/// sees.
@Suite(.timeLimit(.minutes(20))) struct OrderedFaultsTests {
    private static let zone = CKRecordZone.ID(zoneName: "Z")

    private func withApp(
        _ body: (ThrowawayCloud.Operator, CKDatabase, _ userRecordName: String) async throws -> Void
    ) async throws {
        try await ThrowawayCloud.run { cloud in
            let container = try await cloud.device(of: cloud.addUser("ada"))
            let database = container.privateCloudDatabase
            try await database.save(CKRecordZone(zoneID: Self.zone))
            try await body(cloud.makeOperator(), database, container.userRecordID().recordName)
        }
    }

    /// The error that the body ends with.
    private func error(_ body: () async throws -> Void) async -> CKError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? CKError
        }
    }

    /// Work that a user waits for is not retried automatically (B-OPS-04).
    private func impatiently<Value: Sendable>(
        _ database: CKDatabase, _ body: (CKDatabase) async throws -> Value
    ) async throws -> Value {
        let configuration = CKOperation.Configuration()
        configuration.qualityOfService = .userInitiated
        return try await database.configuredWith(configuration: configuration) { try await body($0) }
    }

    @Test func `B-THR-02 B-THR-03 B-ERR-02 B-ERR-03 a throttle is serviceUnavailable, then requestRateLimited`()
        async throws
    {
        try await withApp { cloud, database, _ in
            try await cloud.order("faults/order", #"{"kind":"throttle","email":"ada@example.com","seconds":60}"#)
            let first = await error { _ = try await impatiently(database) { try await $0.allRecordZones() } }
            #expect(first?.code == .serviceUnavailable)
            #expect((1...60).contains(try #require(first?.retryAfterSeconds)))
            let second = await error { _ = try await impatiently(database) { try await $0.allRecordZones() } }
            #expect(second?.code == .requestRateLimited)
            #expect((1...60).contains(try #require(second?.retryAfterSeconds)))
        }
    }

    @Test(arguments: ["throttle", "unavailable"])
    func `B-THR-02 without retry-after the app gets none, and may ask again`(_ kind: String) async throws {
        try await withApp { cloud, database, _ in
            try await cloud.order("faults/order", #"{"kind":"\#(kind)","retryAfter":false}"#)
            for _ in 0..<2 {
                let refusal = await error { _ = try await impatiently(database) { try await $0.allRecordZones() } }
                #expect(refusal?.code == .serviceUnavailable)
                #expect(refusal?.retryAfterSeconds == nil)
            }
            try await cloud.order("faults/remove", #"{"all":true}"#)
            _ = try await impatiently(database) { try await $0.allRecordZones() }
        }
    }

    @Test
    func `B-CHG-09 B-ZN-10 B-ZN-12 B-THR-01 tokens expire, zones are purged, keys are lost, the quota is used up`()
        async throws
    {
        try await withApp { cloud, database, user in
            let token = try await database.recordZoneChanges(inZoneWith: Self.zone, since: nil).changeToken
            try await cloud.order("tokens/expire", #"{"userRecordName":"\#(user)","zone":"Z"}"#)
            let expired = await error {
                _ = try await database.recordZoneChanges(inZoneWith: Self.zone, since: token)
            }
            #expect(expired?.code == .changeTokenExpired)

            let record = try await database.save(
                CKRecord(recordType: "Note", recordID: .init(recordName: "n", zoneID: Self.zone)))
            let before = try await database.recordZoneChanges(inZoneWith: Self.zone, since: nil).changeToken
            try await database.deleteRecord(withID: record.recordID)
            try await cloud.order("zones/compact", #"{"email":"ada@example.com","zone":"Z"}"#)
            let compacted = await error {
                _ = try await database.recordZoneChanges(inZoneWith: Self.zone, since: before)
            }
            #expect(compacted?.code == .changeTokenExpired)

            try await cloud.order("zones/purge", #"{"email":"ada@example.com","zone":"Z"}"#)
            #expect(await error { _ = try await database.recordZone(for: Self.zone) }?.code == .userDeletedZone)
            try await database.save(CKRecordZone(zoneID: Self.zone))
            try await cloud.order("keys/reset", #"{"email":"ada@example.com","zone":"Z"}"#)
            let lost = await error { _ = try await database.recordZone(for: Self.zone) }
            #expect(lost?.code == .zoneNotFound)
            #expect(lost?.userInfo[CKErrorUserDidResetEncryptedDataKey] as? Bool == true)

            try await cloud.order("faults/order", #"{"kind":"quota","email":"ada@example.com","bytes":1}"#)
            let full = await error { try await database.save(CKRecord(recordType: "Note")) }
            #expect(full?.code == .quotaExceeded)
        }
    }
}
