import CloudKitDevice
import CloudUnderTest
import Foundation
import Testing

@testable import CloudKit
@testable import CloudKitClient
@testable import CloudKitEncryption

/// Searches the disk of a cloud process and its recorded traffic for encrypted values and keys.
@Suite(.timeLimit(.minutes(20))) struct BlindnessTests {
    private static let container = "iCloud.com.example.blindness"
    private static let password = "correct horse 4711 battery"
    private static let laterPassword = "incorrect zebra 1174 staple"
    /// The minimum rounds of key derivation.
    private static let rounds = PasswordProof.roundsDefault

    /// A plain value, which the search has to find, to verify the search itself.
    private static let visible = "visible control 3c6ef372"

    @Test func `B-TM-01 B-E2E-01 store, files, log and traffic contain no encrypted value and no key in plain form`()
        async throws
    {
        let cloud = try CloudProcess(logLevel: "trace")
        defer { cloud.end() }
        let tap = try TrafficTap(to: Int(cloud.port))
        defer { tap.close() }
        let home = FileManager.default.temporaryDirectory.appending(path: "welkin-blind-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: home) }
        let devices = try TappedDevices(cloud, tap, home: home, container: Self.container, rounds: Self.rounds)

        // Sign-up, a second device with the password, a new password, recovery.
        let (a, words) = try await devices.signUp(Self.password)
        let b = try await devices.signIn("b", Self.password)
        try await a.changePassword(from: Self.password, to: Self.laterPassword)
        let c = try await devices.recover("c", words: words, password: Self.laterPassword)

        let canaries = Canaries()
        let record = try await writeAndRead(
            on: (a.container, b.container, c.container), canaries: canaries, files: home)
        let keys =
            try keyNeedles(a, record)
            + assetNeedles(try await b.container.privateCloudDatabase.record(for: record.recordID))
        let recovery = try RecoveryKey(words: words.joined(separator: " "))
        let words12 = words.joined(separator: " ")
        let secrets =
            canaries.needles + keys
            + [Needle("the key of the recovery words", bytes: recovery.wrappingKey.material.bytes)] + [
                Needle("the password", text: Self.password), Needle("the later password", text: Self.laterPassword),
                Needle("the recovery words", text: words12),
                Needle("two recovery words", text: words.prefix(2).joined(separator: "\",\"")),
            ]

        // Stops the cloud, so that data in its memory is written.
        cloud.kill()
        let hay = try Hay(cloud: cloud, tap: tap)
        let search = NeedleSearch(secrets)
        let control = NeedleSearch([Needle("the control", text: Self.visible)])
        for (place, bytes) in hay.places {
            #expect(search.found(in: bytes) == [], "unencrypted in \(place)")
        }
        let seen = hay.places.filter { !control.found(in: $0.1).isEmpty }.map(\.0)
        #expect(seen.contains("the wire") && seen.contains { $0.contains("sqlite") }, "unencrypted text is found")
        #expect(hay.places.contains { $0.0.contains("assets/") }, "files are on the disk")
        #expect(hay.bytes > 500_000)
    }

    /// Writes and reads in all ways.
    private func writeAndRead(
        on containers: (CKContainer, CKContainer, CKContainer), canaries: Canaries, files home: URL
    ) async throws -> CKRecord {
        let (a, b, c) = containers
        let zone = try await a.privateCloudDatabase.save(CKRecordZone(zoneName: "Diary"))
        let file = home.appending(path: "canary")
        try canaries.file.write(to: file)
        let parent = CKRecord(
            recordType: "Book", recordID: CKRecord.ID(recordName: "book", zoneID: zone.zoneID))
        parent["title"] = Self.visible
        let record = CKRecord(
            recordType: "Entry", recordID: CKRecord.ID(recordName: "entry", zoneID: zone.zoneID))
        record.setParent(parent)
        canaries.fill(record.encryptedValues)
        record["drawing"] = CKAsset(fileURL: file)
        record["drawings"] = [CKAsset(fileURL: file), CKAsset(fileURL: file)]
        record["note"] = Self.visible
        _ = try await a.privateCloudDatabase.modifyRecords(saving: [parent, record], deleting: [])
        let inDefaultZone = CKRecord(recordType: "Entry")
        canaries.fill(inDefaultZone.encryptedValues)
        try await a.privateCloudDatabase.save(inDefaultZone)

        // A second device changes a record, and a third one gets a conflict.
        let onB = try await b.privateCloudDatabase.record(for: record.recordID)
        #expect(onB.encryptedValues["text"] as? String == canaries.text)
        #expect((onB["drawing"] as? CKAsset)?.fileURL.flatMap { try? Data(contentsOf: $0) } == canaries.file)
        let onC = try await c.privateCloudDatabase.record(for: record.recordID)
        onB.encryptedValues["text"] = canaries.laterText
        try await b.privateCloudDatabase.save(onB)
        onC.encryptedValues["text"] = canaries.text
        do {
            try await c.privateCloudDatabase.save(onC)
            Issue.record("there is no conflict")
        } catch let error as CKError {
            #expect(error.code == .serverRecordChanged)
            #expect(error.serverRecord?.encryptedValues["text"] as? String == canaries.laterText)
        }
        let changes = try await c.privateCloudDatabase.recordZoneChanges(inZoneWith: zone.zoneID, since: nil)
        #expect(changes.modificationResultsByID.count == 2)
        let found = try await b.privateCloudDatabase.records(
            matching: CKQuery(recordType: "Entry", predicate: NSPredicate(format: "note == %@", Self.visible)),
            inZoneWith: zone.zoneID)
        #expect(found.matchResults.count == 1)
        return record
    }

    /// Returns the random keys of files, as another device opened them.
    private func assetNeedles(_ record: CKRecord) -> [Needle] {
        let assets = [record["drawing"] as? CKAsset].compactMap { $0 } + (record["drawings"] as? [CKAsset] ?? [])
        let secrets = assets.compactMap { $0.lastKept?.secret }
        #expect(secrets.count == 3, "every file has a key")
        return secrets.map { Needle("a file's key", bytes: Array($0.bytes.prefix(32))) }
    }

    /// Returns all keys that a device uses for a record.
    private func keyNeedles(_ device: TappedDevices.Device, _ record: CKRecord) throws -> [Needle] {
        let secret = try device.container.connection.cloud.account.secret()
        let owner = try #require(device.userRecordName)
        let root = secret.root(container: Self.container, environment: "development")
        let zone = root.zoneKey(owner: owner, zone: record.recordID.zoneID.zoneName, epoch: 0)
        return [
            Needle("the account's secret", bytes: secret.bytes),
            Needle("the container's root", bytes: root.material.bytes),
            Needle("the zone's key", bytes: zone.material.bytes),
            Needle("the record's key", bytes: zone.recordKey(record.recordID.recordName).material.bytes),
            Needle("the parent's key", bytes: zone.recordKey("book").material.bytes),
        ]
    }
}
