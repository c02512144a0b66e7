import CloudKit
import CloudKitClient
import CloudKitTesting
import FaultyNetwork
import Synchronization
import Testing

/// Changes whose answers are lost, as when a node or the proxy before it ends: the framework repeats them, and no app notices.
@Suite(.timeLimit(.minutes(20))) struct RepeatedChangeTests {
    private static let faults: [NetworkFault] = [
        .requestLost, .requestCut(after: 30), .answerLost, .doubled, .refused(status: 502, retryAfter: nil),
        .refused(status: 503, retryAfter: nil), .refused(status: 504, retryAfter: 1),
    ]

    private static let levels: [QualityOfService] = [.userInitiated, .default, .utility]

    @Test(arguments: faults, levels)
    func `B-THR-07 no change fails when the first attempt of each request goes wrong, and none takes effect twice`(
        fault: NetworkFault, level: QualityOfService
    ) async throws {
        try await ThrowawayCloud.run { cloud in
            let user = try await cloud.addUser("ada")
            let clock = TestClock()
            let number = Mutex(0)
            let network = FaultyTransport(over: HTTPTransport.shared, clientEnvironment: clock.clientEnvironment) { _ in
                number.withLock { number in
                    number += 1
                    return number % 2 == 1 ? fault : nil
                }
            }
            let configuration = CKOperation.Configuration()
            configuration.qualityOfService = level
            let device = try await cloud.device(of: user, over: network, clientEnvironment: clock.clientEnvironment)
            let zone = CKRecordZone(zoneName: "Z")
            let ids = ["A", "B", "C"].map { CKRecord.ID(recordName: $0, zoneID: zone.zoneID) }
            try await device.privateCloudDatabase.configuredWith(configuration: configuration) { database in
                try await database.save(zone)
                let first = CKRecord(recordType: "Note", recordID: ids[0])
                first["text"] = "one"
                first.encryptedValues["secret"] = "one"
                let saved = try await database.save(first)
                saved["text"] = "two"
                saved.encryptedValues["secret"] = "two"
                let again = try await database.save(saved)
                try await database.save(CKRecord(recordType: "Note", recordID: ids[1]))
                let (saves, deletions) = try await database.modifyRecords(
                    saving: [again, CKRecord(recordType: "Note", recordID: ids[2])], deleting: [ids[1]])
                for result in saves.values { _ = try result.get() }
                for result in deletions.values { try result.get() }
                let subscription = CKRecordZoneSubscription(zoneID: zone.zoneID, subscriptionID: "S")
                subscription.notificationInfo = CKSubscription.NotificationInfo(shouldSendContentAvailable: true)
                try await database.save(subscription)
                try await database.deleteSubscription(withID: "S")
                try await database.save(CKRecordZone(zoneName: "Y"))
                try await database.deleteRecordZone(withID: CKRecordZone.ID(zoneName: "Y"))
            }
            // A request that arrived twice is not repeated, so only every second operation meets the fault.
            #expect(network.injectedFaults.count >= (fault == .doubled ? 5 : 9))
            let observer = try await cloud.device(of: user).privateCloudDatabase
            let page = try await observer.recordZoneChanges(inZoneWith: zone.zoneID, since: nil)
            #expect(Set(page.modificationResultsByID.keys) == [ids[0], ids[2]])
            let record = try await observer.record(for: ids[0])
            #expect(record["text"] == "two")
            #expect(record.encryptedValues["secret"] == "two")
            #expect(try await observer.allRecordZones().map(\.zoneID.zoneName).sorted() == ["Z", "_defaultZone"])
            #expect(try await observer.allSubscriptions().isEmpty)
        }
    }

    @Test func `B-THR-07 a save that others have overtaken brings their record`() async throws {
        let record = CKRecord(recordType: "Note")
        record.encryptedValues["secret"] = "first"
        try await save(
            record, in: .private, overtakenBy: { $0.encryptedValues["secret"] = "second" },
            check: { saved, device in
                #expect(saved.encryptedValues["secret"] == "second")
                #expect(record.encryptedValues["secret"] == "second")
                saved.encryptedValues["secret"] = "third"
                try await device.save(saved)
            })
    }

    /// The file that was sent does not stand in for the other one, and can be saved again.
    @Test(arguments: [CKDatabase.Scope.private, .public])
    func `B-THR-07 a save that others have overtaken brings their file without its contents`(
        scope: CKDatabase.Scope
    ) async throws {
        let files = try TestFiles()
        let record = CKRecord(recordType: "Note")
        let mine = try files.asset("mine", 300)
        record["file"] = mine
        let theirs = try files.asset("theirs", 200)
        try await save(
            record, in: scope, overtakenBy: { $0["file"] = theirs },
            check: { saved, device in
                for record in [saved, record] {
                    #expect(try #require(record["file"] as? CKAsset).fileURL == nil)
                }
                let fetched = try await device.record(for: record.recordID)
                #expect(try contents(fetched["file"]) == TestFiles.bytes("theirs", 200))
                saved["file"] = mine
                try await device.save(saved)
                let again = try await device.record(for: record.recordID)
                #expect(try contents(again["file"]) == TestFiles.bytes("mine", 300))
            })
    }

    @Test(arguments: [CKDatabase.Scope.private, .public])
    func `B-THR-07 a save that others have overtaken shows its own file where they kept it`(
        scope: CKDatabase.Scope
    ) async throws {
        let files = try TestFiles()
        let record = CKRecord(recordType: "Note")
        record["file"] = try files.asset("mine", 300)
        try await save(
            record, in: scope, overtakenBy: { $0["text"] = "theirs" },
            check: { saved, device in
                for record in [saved, record] {
                    #expect(record["text"] == "theirs")
                    #expect(try contents(record["file"]) == TestFiles.bytes("mine", 300))
                }
                saved["text"] = "mine"
                try await device.save(saved)
                let fetched = try await device.record(for: record.recordID)
                #expect(try contents(fetched["file"]) == TestFiles.bytes("mine", 300))
            })
    }

    /// Saves a record: the answer is lost, another device changes the record, and then the request is repeated.
    ///
    /// - Parameters:
    ///   - change: What the other device changes.
    ///   - check: Receives the result of the save and the database of the first device.
    private func save(
        _ record: CKRecord, in scope: CKDatabase.Scope, overtakenBy change: (CKRecord) -> Void,
        check: (CKRecord, CKDatabase) async throws -> Void
    ) async throws {
        try await ThrowawayCloud.run { cloud in
            let user = try await cloud.addUser("ada")
            let clock = TestClock(skipsWaits: false)
            let network = FaultyTransport(over: HTTPTransport.shared, clientEnvironment: clock.clientEnvironment)
            let device = try await cloud.device(of: user, over: network, clientEnvironment: clock.clientEnvironment)
                .database(with: scope)
            let other = try await cloud.device(of: user).database(with: scope)
            let lost = Mutex(false)
            network.decide { request in
                guard request.url.path.hasSuffix("records/modify") else { return nil }
                return lost.withLock { lost in
                    defer { lost = true }
                    return lost ? nil : .answerLost
                }
            }
            let saving = Task { try await device.save(record) }
            await clock.waitForSleepers()
            let theirs = try await other.record(for: record.recordID)
            change(theirs)
            let overtaking = try await other.save(theirs)
            clock.advance(by: .seconds(10))
            let saved = try await saving.value
            #expect(saved.recordChangeTag == overtaking.recordChangeTag)
            #expect(record.recordChangeTag == overtaking.recordChangeTag)
            try await check(saved, device)
        }
    }
}
