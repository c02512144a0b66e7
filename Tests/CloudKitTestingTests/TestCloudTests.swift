import CloudKit
import CloudKitTesting
import Foundation
import Testing

private let notes = "iCloud.com.example.notes"

/// Runs the body with a quality of service at which requests are retried automatically (B-OPS-04).
private func withRetries<Value: Sendable>(
    _ database: CKDatabase, _ body: (CKDatabase) async throws -> Value
) async throws -> Value {
    let configuration = CKOperation.Configuration()
    configuration.qualityOfService = .utility
    return try await database.configuredWith(configuration: configuration) { try await body($0) }
}

/// Returns the error code with which the body fails.
private func code(_ body: () async throws -> Void) async -> CKError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? CKError)?.code
    }
}

@Suite(.timeLimit(.minutes(20))) struct TestCloudTests {
    @Test func `two devices of one user share records that another user does not see`() async throws {
        try await TestCloud.run { cloud in
            let ada = try await cloud.user("ada")
            let phone = try await ada.device("phone").container(notes).privateCloudDatabase
            let laptop = try await ada.device("laptop").container(notes).privateCloudDatabase
            let record = CKRecord(recordType: "Note")
            record["text"] = "hello"
            let saved = try await phone.save(record)
            let read = try await laptop.record(for: saved.recordID)
            #expect(read["text"] as? String == "hello")
            let bob = try await cloud.user("bob").device().container(notes).privateCloudDatabase
            await #expect(throws: CKError.self) { _ = try await bob.record(for: saved.recordID) }
        }
    }

    @Test func `a reset leaves an empty cloud`() async throws {
        try await TestCloud.run { cloud in
            let before = try await cloud.user("ada").device().container(notes)
            let record = try await before.privateCloudDatabase.save(CKRecord(recordType: "Note"))
            try await cloud.reset()
            let after = try await cloud.user("ada").device().container(notes)
            do {
                _ = try await after.privateCloudDatabase.record(for: record.recordID)
                Issue.record("the record outlived the reset")
            } catch let error as CKError {
                #expect(error.code == .unknownItem)
            }
        }
    }

    @Test func `the clock is the cloud's, and advances only when the test advances it`() async throws {
        let start = Date(timeIntervalSince1970: 1_800_000_000)
        try await TestCloud.run(clock: TestClock(startingAt: start)) { cloud in
            let database = try await cloud.user().device().container(notes).privateCloudDatabase
            let first = try await database.save(CKRecord(recordType: "Note"))
            #expect(first.creationDate == start)
            cloud.clock.advance(by: .seconds(3600))
            first["text"] = "later"
            let second = try await database.save(first)
            #expect(second.modificationDate == start.addingTimeInterval(3600))
            #expect(second.creationDate == start)
        }
    }

    @Test func `B-THR-02 B-THR-03 a throttled device gets a retry time, and sends nothing until then`()
        async throws
    {
        try await TestCloud.run { cloud in
            let ada = try await cloud.user()
            let device = try await ada.device()
            let database = try await device.container(notes).privateCloudDatabase
            try await cloud.throttle(ada, in: notes, for: 20)
            let first = await code { _ = try await database.save(CKRecord(recordType: "Note")) }
            #expect(first == .serviceUnavailable)
            let sent = device.network.exchanges.count
            let second = await code { _ = try await database.save(CKRecord(recordType: "Note")) }
            #expect(second == .requestRateLimited)
            #expect(device.network.exchanges.count == sent)
            cloud.clock.advance(by: .seconds(21))
            try await database.save(CKRecord(recordType: "Note"))
        }
    }

    @Test func `B-THR-01 a quota is exceeded`() async throws {
        try await TestCloud.run { cloud in
            let ada = try await cloud.user()
            let database = try await ada.device().container(notes).privateCloudDatabase
            try await cloud.setQuota(bytes: 1, of: ada, in: notes)
            do {
                try await database.save(CKRecord(recordType: "Note"))
                Issue.record("the quota was not enforced")
            } catch let error as CKError {
                #expect(error.code == .quotaExceeded)
            }
            try await cloud.removeFaults()
            try await database.save(CKRecord(recordType: "Note"))
        }
    }

    @Test func `B-CHG-09 B-ZN-10 B-ZN-12 tokens expire, zones are purged, keys are lost on demand`() async throws {
        try await TestCloud.run { cloud in
            let ada = try await cloud.user()
            let database = try await ada.device().container(notes).privateCloudDatabase
            let zone = try await database.save(CKRecordZone(zoneName: "Z")).zoneID
            let token = try await database.recordZoneChanges(inZoneWith: zone, since: nil).changeToken
            try await cloud.expireChangeTokens(ofZone: "Z", of: ada, in: notes)
            do {
                _ = try await database.recordZoneChanges(inZoneWith: zone, since: token)
                Issue.record("the token is valid")
            } catch let error as CKError {
                #expect(error.code == .changeTokenExpired)
            }
            try await cloud.purge(zone: "Z", of: ada, in: notes)
            do {
                _ = try await database.recordZone(for: zone)
                Issue.record("the zone is there")
            } catch let error as CKError {
                #expect(error.code == .userDeletedZone)
            }
            try await database.save(CKRecordZone(zoneID: zone))
            try await cloud.loseKeys(ofZone: "Z", of: ada, in: notes)
            do {
                _ = try await database.save(
                    CKRecord(recordType: "Note", recordID: .init(recordName: "n", zoneID: zone)))
                Issue.record("the zone is there")
            } catch let error as CKError {
                #expect(error.code == .zoneNotFound)
                #expect(error.userInfo[CKErrorUserDidResetEncryptedDataKey] as? Bool == true)
            }
        }
    }

    @Test func `a device without network fails, and continues when it is online`() async throws {
        try await TestCloud.run { cloud in
            let device = try await cloud.user().device()
            let database = try await device.container(notes).privateCloudDatabase
            device.network.isOffline = true
            do {
                try await database.save(CKRecord(recordType: "Note"))
                Issue.record("it reached the cloud")
            } catch let error as CKError {
                #expect(error.code == .networkUnavailable || error.code == .networkFailure)
            }
            device.network.isOffline = false
            try await database.save(CKRecord(recordType: "Note"))
        }
    }

    @Test func `B-THR-07 a save whose answer is lost is sent again, and takes effect once`() async throws {
        try await TestCloud.run { cloud in
            let device = try await cloud.user().device()
            let database = try await device.container(notes).privateCloudDatabase
            let record = CKRecord(recordType: "Note", recordID: .init(recordName: "n"))
            device.network.fail(with: .losesAnswer, to: "records/modify")
            let saved = try await database.save(record)
            let server = try await database.record(for: record.recordID)
            #expect(server.recordChangeTag == saved.recordChangeTag)
            #expect(device.network.exchanges.filter { $0.endpoint == "records/modify" }.map(\.status) == [nil, 200])
        }
    }

    @Test func `a request is retried after the time that a busy proxy names`() async throws {
        try await TestCloud.run { cloud in
            let device = try await cloud.user().device()
            let database = try await device.container(notes).privateCloudDatabase
            device.network.fail(with: .answers(status: 503, retryAfter: 7), to: "zones/list")
            let before = cloud.clock.now
            #expect(try await withRetries(database) { try await $0.allRecordZones().count } == 1)
            #expect(cloud.clock.now >= before.addingTimeInterval(7))
        }
    }

    @Test func `signed-out, revoked and disabled devices get the right error`() async throws {
        try await TestCloud.run { cloud in
            let ada = try await cloud.user()
            let device = try await ada.device()
            let container = try await device.container(notes)
            #expect(try await container.accountStatus() == .available)
            try await device.signOut()
            #expect(try await container.accountStatus() == .noAccount)
            do {
                try await container.privateCloudDatabase.save(CKRecord(recordType: "Note"))
                Issue.record("no user is signed in")
            } catch let error as CKError {
                #expect(error.code == .notAuthenticated)
            }
            try await device.signIn(as: ada)
            try await container.privateCloudDatabase.save(CKRecord(recordType: "Note"))
            try await device.revoke()
            await #expect(throws: CKError.self) {
                _ = try await container.privateCloudDatabase.save(CKRecord(recordType: "Note"))
            }
            let kiosk = try await cloud.signedOutDevice().container(notes)
            #expect(try await kiosk.accountStatus() == .noAccount)
        }
    }

    @Test func `code that uses the default container gets the device's`() async throws {
        func appCode() async throws -> CKRecord.ID { try await CKContainer.default().userRecordID() }
        try await TestCloud.run { cloud in
            let ada = try await cloud.user("ada")
            let bob = try await cloud.user("bob")
            let asAda = try await ada.device().asDefault(notes) { _ in try await appCode() }
            let asBob = try await bob.device().asDefault(notes) { _ in try await appCode() }
            #expect(try await asAda.recordName == ada.recordID(in: notes).recordName)
            #expect(try await asBob.recordName == bob.recordID(in: notes).recordName)
        }
    }

    @Test func `B-THR-03 the end of a fault ends the waits of devices`() async throws {
        try await TestCloud.run { cloud in
            let ada = try await cloud.user()
            let device = try await ada.device()
            let database = try await device.container(notes).privateCloudDatabase
            try await cloud.throttle(ada, in: notes, for: 20)
            #expect(await code { try await database.save(CKRecord(recordType: "Note")) } == .serviceUnavailable)
            #expect(await code { try await database.save(CKRecord(recordType: "Note")) } == .requestRateLimited)
            try await cloud.removeFaults()
            try await database.save(CKRecord(recordType: "Note"))

            // Longer than a cloud is waited for that is away for a moment.
            device.network.fail(with: .answers(status: 503, retryAfter: 30))
            #expect(await code { try await database.save(CKRecord(recordType: "Note")) } == .serviceUnavailable)
            #expect(await code { try await database.save(CKRecord(recordType: "Note")) } == .requestRateLimited)
            device.network.reset()
            try await database.save(CKRecord(recordType: "Note"))
        }
    }

    @Test func `a waiting device continues when the test advances the clock`() async throws {
        let clock = TestClock()
        clock.skipsWaits = false
        try await TestCloud.run(clock: clock) { cloud in
            let device = try await cloud.user().device()
            let database = try await device.container(notes).privateCloudDatabase
            device.network.fail(with: .answers(status: 503, retryAfter: 60), to: "zones/list")
            async let zones = withRetries(database) { try await $0.allRecordZones().count }
            await clock.waitForSleepers()
            clock.advance(by: .seconds(90))
            #expect(try await zones == 1)
        }
    }

    @Test func `a restarted server keeps acknowledged changes, and devices find it`() async throws {
        try await TestCloud.run { cloud in
            let ada = try await cloud.user()
            let database = try await ada.device().container(notes).privateCloudDatabase
            let record = try await database.save(CKRecord(recordType: "Note"))
            try await cloud.restartServer {
                let away = await code { _ = try await database.record(for: record.recordID) }
                #expect(away == .networkUnavailable || away == .networkFailure)
            }
            #expect(try await database.record(for: record.recordID).recordChangeTag == record.recordChangeTag)
            let other = try await ada.device("other").container(notes).privateCloudDatabase
            _ = try await other.record(for: record.recordID)
            await cloud.stopServer()
            await cloud.stopServer()
            try await cloud.startServer()
            try await cloud.startServer()
            _ = try await database.record(for: record.recordID)
        }
    }

    @Test func `B-BKD-12 B-TM-12 a zone is compacted, a keychain is lost on demand`() async throws {
        try await TestCloud.run { cloud in
            let ada = try await cloud.user()
            let device = try await ada.device()
            let container = try await device.container(notes)
            let database = container.privateCloudDatabase
            let zone = try await database.save(CKRecordZone(zoneName: "Z")).zoneID
            let record = CKRecord(recordType: "Note", recordID: .init(recordName: "n", zoneID: zone))
            record.encryptedValues["text"] = "sealed"
            try await database.save(record)
            let token = try await database.recordZoneChanges(inZoneWith: zone, since: nil).changeToken
            try await database.save(CKRecord(recordType: "Note", recordID: .init(recordName: "m", zoneID: zone)))
            try await database.deleteRecord(withID: record.recordID)
            #expect(try await cloud.compact(zone: "Z", of: ada, in: notes) == 1)
            let tooOld = await code { _ = try await database.recordZoneChanges(inZoneWith: zone, since: token) }
            #expect(tooOld == .changeTokenExpired)

            try await cloud.resetKeys(of: ada)
            let shutOut = await code { _ = try await database.recordZoneChanges(inZoneWith: zone, since: nil) }
            #expect(shutOut == .accountTemporarilyUnavailable)
            try await device.signIn(as: ada)
            let lost = await code {
                _ = try await device.container(notes).privateCloudDatabase.recordZone(for: zone)
            }
            #expect(lost == .zoneNotFound)
        }
    }

    @Test func `B-THR-02 an outage may have no retry time`() async throws {
        try await TestCloud.run { cloud in
            let database = try await cloud.user().device().container(notes).privateCloudDatabase
            let orders: [() async throws -> Void] = [
                { try await cloud.takeDown(for: 60, sendsRetryAfter: false) },
                { try await cloud.throttle(in: notes, for: 60, sendsRetryAfter: false) },
            ]
            for order in orders {
                try await order()
                do {
                    _ = try await database.allRecordZones()
                    Issue.record("it answered")
                } catch let error as CKError {
                    #expect(error.code == .serviceUnavailable && error.retryAfterSeconds == nil)
                }
                try await cloud.removeFaults()
                _ = try await database.allRecordZones()
            }
        }
    }

    @Test func `B-THR-02 B-THR-07 file transfers are throttled, too`() async throws {
        try await TestCloud.run { cloud in
            let device = try await cloud.user().device()
            let database = try await device.container(notes).privateCloudDatabase
            let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
            try Data("contents".utf8).write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            let record = CKRecord(recordType: "Note", recordID: .init(recordName: "n"))
            record["photo"] = CKAsset(fileURL: file)
            device.network.fail(with: .answers(status: 503, retryAfter: 7), to: "asset/upload")
            #expect(await code { try await database.save(record) } == .serviceUnavailable)
            cloud.clock.advance(by: .seconds(7))
            try await database.save(record)
            device.network.fail(with: .cutsAnswer(after: 1), to: "asset/download")
            let fetched = try await database.record(for: record.recordID)
            let url = try #require((fetched["photo"] as? CKAsset)?.fileURL)
            #expect(try String(contentsOf: url, encoding: .utf8) == "contents")
            #expect(device.network.exchanges.filter { $0.endpoint == "asset/download" }.count == 2)
        }
    }

    @Test func `B-THR-07 a truncated answer is an error, a slow one is late`() async throws {
        try await TestCloud.run { cloud in
            let device = try await cloud.user().device()
            let database = try await device.container(notes).privateCloudDatabase
            let record = CKRecord(recordType: "Note", recordID: .init(recordName: "n"))
            for bytes in [0, 1, 40] {
                device.network.fail(with: .cutsAnswer(after: bytes), to: "records/lookup")
                await #expect(throws: CKError.self) { _ = try await database.record(for: record.recordID) }
            }
            let before = cloud.clock.now
            device.network.fail(with: .delays(.seconds(20)), to: "records/modify")
            try await database.save(record)
            #expect(cloud.clock.now >= before.addingTimeInterval(20))
        }
    }

    @Test func `B-SUB-09 B-SUB-02 subscriptions are the user's: they outlive a sign-out, and every device sees them`()
        async throws
    {
        try await TestCloud.run { cloud in
            let ada = try await cloud.user()
            let device = try await ada.device()
            try await device.container(notes).privateCloudDatabase.save(CKDatabaseSubscription(subscriptionID: "all"))
            try await device.signOut()
            try await device.signIn(as: ada)
            for each in [device, try await ada.device("other")] {
                let subscriptions = try await each.container(notes).privateCloudDatabase.allSubscriptions()
                #expect(subscriptions.map(\.subscriptionID) == ["all"])
            }
        }
    }
}
