import CloudKit
import Foundation
import Testing

/// The framework against a cloud of documented web services alone (docs/web-services.md §17).
@Suite(.timeLimit(.minutes(20))) struct WebServicesModeTests {
    private func withCloud(_ body: (ThrowawayCloud) async throws -> Void) async throws {
        try await ThrowawayCloud.run(on: .webServices) { try await body($0) }
    }

    @Test func `records are saved, fetched, queried and deleted`() async throws {
        try await withCloud { cloud in
            let ada = try await cloud.device(of: cloud.addUser("ada"))
            let database = ada.privateCloudDatabase
            let zone = try await database.save(CKRecordZone(zoneName: "Z"))
            #expect(zone.zoneID == CKRecordZone.ID(zoneName: "Z"))
            #expect(zone.capabilities.contains(.atomic))
            let records = (1...5).map { number in
                let record = CKRecord(
                    recordType: "Note", recordID: CKRecord.ID(recordName: "r\(number)", zoneID: zone.zoneID))
                record["number"] = number
                record["date"] = Date(timeIntervalSince1970: 1_700_000_000)
                record["place"] = CLLocation(latitude: 1, longitude: 2)
                record["first"] = CKRecord.Reference(
                    recordID: CKRecord.ID(recordName: "r1", zoneID: zone.zoneID), action: .none)
                return record
            }
            _ = try await database.modifyRecords(saving: records, deleting: [])
            let read = try await database.record(for: records[2].recordID)
            #expect(read.recordID == records[2].recordID)
            #expect(read["number"] as? Int == 3)
            #expect(read["date"] as? Date == Date(timeIntervalSince1970: 1_700_000_000))
            #expect((read["first"] as? CKRecord.Reference)?.recordID == records[0].recordID)
            #expect(read.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)

            let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "number > 1"))
            query.sortDescriptors = [NSSortDescriptor(key: "number", ascending: true)]
            let first = try await database.records(matching: query, inZoneWith: zone.zoneID, resultsLimit: 3)
            #expect(first.matchResults.map(\.0.recordName) == ["r2", "r3", "r4"])
            let rest = try await database.records(continuingMatchFrom: try #require(first.queryCursor))
            #expect(rest.matchResults.map(\.0.recordName) == ["r5"])
            let none = CKQuery(recordType: "Note", predicate: NSPredicate(value: false))
            #expect(try await database.records(matching: none).matchResults.isEmpty)

            try await database.deleteRecord(withID: records[0].recordID)
            await #expect(throws: CKError.self) { try await database.record(for: records[0].recordID) }
        }
    }

    @Test func `B-SAV-07 a conflict brings the three records, and an atomic batch fails as one`() async throws {
        try await withCloud { cloud in
            let user = try await cloud.addUser("ada")
            let a = try await cloud.device(of: user, named: "a").privateCloudDatabase
            let b = try await cloud.device(of: user, named: "b").privateCloudDatabase
            let zone = try await a.save(CKRecordZone(zoneName: "Z"))
            let record = CKRecord(recordType: "Note", recordID: .init(recordName: "r", zoneID: zone.zoneID))
            record["text"] = "one"
            let onA = try await a.save(record)
            let onB = try await b.record(for: record.recordID)
            onA["text"] = "two"
            _ = try await a.save(onA)
            onB["text"] = "three"
            let conflict = await #expect(throws: CKError.self) { try await b.save(onB) }
            #expect(conflict?.code == .serverRecordChanged)
            #expect(conflict?.serverRecord?["text"] as? String == "two")
            #expect(conflict?.ancestorRecord?["text"] as? String == "one")
            #expect(conflict?.clientRecord?["text"] as? String == "three")
            let again = CKRecord(recordType: "Note", recordID: record.recordID)
            let fresh = CKRecord(recordType: "Note", recordID: .init(recordName: "fresh", zoneID: zone.zoneID))
            let atomic = await #expect(throws: CKError.self) {
                try await a.modifyRecords(saving: [again, fresh], deleting: [], atomically: true)
            }
            #expect((atomic?.partialErrorsByItemID?[again.recordID] as? CKError)?.code == .serverRecordChanged)
            #expect((atomic?.partialErrorsByItemID?[fresh.recordID] as? CKError)?.code == .batchRequestFailed)
        }
    }

    @Test func `zones, changes and subscriptions are fetched`() async throws {
        try await withCloud { cloud in
            let database = try await cloud.device(of: cloud.addUser("ada")).privateCloudDatabase
            let zone = try await database.save(CKRecordZone(zoneName: "Z"))
            #expect(try await database.allRecordZones().map(\.zoneID.zoneName).sorted() == ["Z", "_defaultZone"])
            #expect(try await database.recordZone(for: zone.zoneID).zoneID == zone.zoneID)
            let changed = try await database.databaseChanges(since: nil)
            #expect(changed.modifications.map(\.zoneID) == [zone.zoneID])
            let record = CKRecord(recordType: "Note", recordID: .init(recordName: "r", zoneID: zone.zoneID))
            record["text"] = "x"
            try await database.save(record)
            let first = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: nil)
            #expect(first.modificationResultsByID.keys.map(\.recordName) == ["r"])
            try await database.deleteRecord(withID: record.recordID)
            let second = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: first.changeToken)
            #expect(second.deletions.map(\.recordID) == [record.recordID])
            let subscription = try await database.save(CKDatabaseSubscription(subscriptionID: "all"))
            #expect(try await database.allSubscriptions().map(\.subscriptionID) == [subscription.subscriptionID])
            _ = try await database.deleteSubscription(withID: "all")
            try await database.deleteRecordZone(withID: zone.zoneID)
            let gone = try await database.databaseChanges(since: changed.changeToken)
            #expect(gone.deletions.map(\.zoneID) == [zone.zoneID])
        }
    }

    @Test func `files are sent and fetched whole, and as they are`() async throws {
        try await withCloud { cloud in
            let user = try await cloud.addUser("ada")
            let container = try await cloud.device(of: user, named: "a")
            let other = try await cloud.device(of: user, named: "b")
            for database in [container.privateCloudDatabase, container.publicCloudDatabase] {
                let bytes = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
                let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
                try bytes.write(to: file)
                defer { try? FileManager.default.removeItem(at: file) }
                let record = CKRecord(recordType: "Photo")
                record["file"] = CKAsset(fileURL: file)
                try await database.save(record)
                let read = try await other.database(with: database.databaseScope).record(for: record.recordID)
                let url = try #require((read["file"] as? CKAsset)?.fileURL)
                #expect(try Data(contentsOf: url) == bytes)
                read["name"] = "again"
                try await other.database(with: database.databaseScope).save(read)
            }
        }
    }

    @Test func `a share is begun, resolved, accepted, written to and ended`() async throws {
        try await withCloud { cloud in
            let ada = try await cloud.device(of: cloud.addUser("ada"))
            let bob = try await cloud.device(of: cloud.addUser("bob"))
            let zone = try await ada.privateCloudDatabase.save(CKRecordZone(zoneName: "Trip"))
            let root = CKRecord(recordType: "Trip", recordID: .init(recordName: "root", zoneID: zone.zoneID))
            root["title"] = "Lakes"
            let share = CKShare(rootRecord: root)
            share[CKShare.SystemFieldKey.title] = "Lakes"
            share.publicPermission = .none
            let participant = try await ada.shareParticipant(forEmailAddress: "bob@example.com")
            participant.permission = .readWrite
            share.addParticipant(participant)
            _ = try await ada.privateCloudDatabase.modifyRecords(saving: [root, share], deleting: [])
            let url = try #require(share.url)
            let metadata = try await bob.shareMetadata(for: url)
            #expect(metadata.share.recordID.recordName == share.recordID.recordName)
            _ = try await bob.accept(metadata)
            let shared = try await bob.sharedCloudDatabase.allRecordZones()
            let zoneID = try #require(shared.first?.zoneID)
            #expect(zoneID.ownerName == (try await ada.userRecordID().recordName))
            let read = try await bob.sharedCloudDatabase.record(for: .init(recordName: "root", zoneID: zoneID))
            #expect(read["title"] as? String == "Lakes")
            read["title"] = "Lake District"
            try await bob.sharedCloudDatabase.save(read)
            let own = try await ada.privateCloudDatabase.record(for: root.recordID)
            #expect(own["title"] as? String == "Lake District")
            _ = try await ada.privateCloudDatabase.deleteRecord(withID: share.recordID)
            #expect(try await bob.sharedCloudDatabase.allRecordZones().isEmpty)
        }
    }

    @Test func `what web services cannot do is refused with its reason, and nothing is sent`() async throws {
        try await withCloud { cloud in
            let container = try await cloud.device(of: cloud.addUser("ada"))
            let database = container.privateCloudDatabase
            let zone = try await database.save(CKRecordZone(zoneName: "Z"))
            let secret = CKRecord(recordType: "Note", recordID: .init(recordName: "s", zoneID: zone.zoneID))
            secret.encryptedValues["pin"] = "1234"
            let encrypted = await #expect(throws: CKError.self) { try await database.save(secret) }
            #expect(encrypted?.code == .serverRejectedRequest)
            #expect(encrypted?.localizedDescription.contains("encryptedValues") == true)
            await #expect(throws: CKError.self) { try await database.record(for: secret.recordID) }

            let many = (0..<201).map { CKRecord(recordType: "Note", recordID: .init(recordName: "m\($0)")) }
            let large = await #expect(throws: CKError.self) {
                try await database.modifyRecords(saving: many, deleting: [])
            }
            #expect(large?.code == .limitExceeded)
            // More than a request may name are fetched by several.
            #expect(try await database.records(for: many.map(\.recordID)).count == 201)

            let titled = CKDatabaseSubscription(subscriptionID: "titled")
            let info = CKSubscription.NotificationInfo()
            info.title = "News"
            titled.notificationInfo = info
            let refused = await #expect(throws: CKError.self) { try await database.save(titled) }
            #expect(refused?.code == .serverRejectedRequest)
            let link = try #require(URL(string: cloud.endpoint + "/share/abc"))
            let access = await #expect(throws: CKError.self) { try await container.requestShareAccess(for: [link]) }
            #expect(access?.code == .serverRejectedRequest)
        }
    }

    @Test func `a server-to-server key reads and writes the public database, and nothing else`() async throws {
        try await withCloud { cloud in
            let server = try await cloud.serverProcess()
            let record = CKRecord(recordType: "News")
            record["text"] = "signed"
            let saved = try await server.publicCloudDatabase.save(record)
            #expect(saved.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
            let query = CKQuery(recordType: "News", predicate: NSPredicate(format: "text = %@", "signed"))
            #expect(try await server.publicCloudDatabase.records(matching: query).matchResults.count == 1)
            #expect(try await server.userRecordID().recordName.hasPrefix("_"))
            let stranger = cloud.strangersDevice()
            #expect(
                try await stranger.publicCloudDatabase.record(for: record.recordID)["text"] as? String == "signed")
            let refused = await #expect(throws: CKError.self) {
                try await server.privateCloudDatabase.record(for: record.recordID)
            }
            #expect(refused?.code == .serverRejectedRequest)
            #expect(refused?.localizedDescription.contains("public database") == true)
            let unsigned = await #expect(throws: CKError.self) { try await stranger.publicCloudDatabase.save(record) }
            #expect(unsigned?.code == .notAuthenticated)
        }
    }
}
