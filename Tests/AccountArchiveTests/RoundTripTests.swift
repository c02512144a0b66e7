import AccountArchive
import CloudKit
import CloudKitModel
import CloudKitSchema
import CloudKitTesting
import CoreLocation
import Foundation
import Testing

/// Exports and imports of accounts, from one cloud to another.
@Suite(.timeLimit(.minutes(20))) struct RoundTripTests {
    private static let notes = "iCloud.com.example.notes"
    private static let photos = "iCloud.com.example.photos"

    private func write(_ text: String, _ name: String, _ folder: ArchiveFolder) throws -> URL {
        let url = URL(fileURLWithPath: folder[name])
        try Data(text.utf8).write(to: url)
        return url
    }

    /// Fills the databases of a person with one of everything.
    private func fill(_ device: TestDevice, _ folder: ArchiveFolder) async throws {
        let notes = try await device.container(Self.notes)
        let plain = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "plain"))
        plain["title"] = "A \"quoted\"\nline \u{1F310}\u{0}"
        plain["count"] = Int64.min
        plain["ratio"] = 0.1
        plain["date"] = Date(timeIntervalSince1970: 1_700_000_000.123)
        plain["bytes"] = Data([0, 1, 255])
        plain["place"] = CLLocation(latitude: 51.5, longitude: -0.1)
        plain["words"] = ["b", "a", ""]
        plain["numbers"] = [3, 1, 2]
        plain["next"] = CKRecord.Reference(recordID: CKRecord.ID(recordName: "missing"), action: .none)
        plain["file"] = CKAsset(fileURL: try write("a file", "a", folder))
        plain.encryptedValues["secret"] = "the secret of the default zone"
        plain.encryptedValues["exact"] = Date(timeIntervalSinceReferenceDate: 12_345.678_901_234)
        try await notes.privateCloudDatabase.save(plain)

        let trips = CKRecordZone.ID(zoneName: "Trips / 2026 & more")
        try await notes.privateCloudDatabase.save(CKRecordZone(zoneID: trips))
        func inTrips(_ name: String, _ type: String = "Trip") -> CKRecord {
            CKRecord(recordType: type, recordID: CKRecord.ID(recordName: name, zoneID: trips))
        }
        // Its name comes before that of its parent.
        let root = inTrips("z root")
        root["title"] = "Root"
        root.encryptedValues["secret"] = "of the root"
        let child = inTrips("a child")
        child.setParent(root)
        child.encryptedValues["secret"] = "of the child"
        child["pictures"] = [
            CKAsset(fileURL: try write("a file", "b", folder)), CKAsset(fileURL: try write("another", "c", folder)),
        ]
        let owned = inTrips("b owned", "Item")
        owned["owner"] = CKRecord.Reference(record: root, action: .deleteSelf)
        let results = try await notes.privateCloudDatabase.modifyRecords(saving: [root, child, owned], deleting: [])
        for result in results.saveResults.values { _ = try result.get() }

        // More than a page.
        let many = CKRecordZone.ID(zoneName: "many")
        try await notes.privateCloudDatabase.save(CKRecordZone(zoneID: many))
        let records = (0..<250).map { number -> CKRecord in
            let record = CKRecord(
                recordType: "Number", recordID: CKRecord.ID(recordName: "n\(number)", zoneID: many))
            record.encryptedValues["value"] = number
            return record
        }
        for result in try await notes.privateCloudDatabase.modifyRecords(saving: records, deleting: [])
            .saveResults.values
        { _ = try result.get() }

        let shown = CKRecord(recordType: "Comment", recordID: CKRecord.ID(recordName: "of ada"))
        shown["text"] = "in public"
        shown["picture"] = CKAsset(fileURL: try write("seen by all", "d", folder))
        try await notes.publicCloudDatabase.save(shown)

        let photos = try await device.container(Self.photos)
        let photo = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "one"))
        photo["title"] = "One"
        try await photos.privateCloudDatabase.save(photo)
    }

    @Test func `everything of an account moves to another cloud, and a second import changes nothing`() async throws {
        try await ArchiveFolder.with { folder in
            let first = try await TestCloud.run { cloud in
                let device = try await cloud.user("ada").device()
                try await fill(device, folder)
                // What others have is not part of it.
                let ben = try await cloud.user("ben").device().container(Self.notes)
                let other = CKRecord(recordType: "Comment", recordID: CKRecord.ID(recordName: "of ben"))
                other["text"] = "from Ben"
                try await ben.publicCloudDatabase.save(other)
                let manifest = try await folder.export(device, as: "first")
                try await cloud.deploySchema(of: Self.notes)
                return manifest
            }
            let notes = try #require(first.containers.first { $0.container == Self.notes })
            #expect(first.account == "ada@example.com" && first.format == 1 && first.problemCount == 0)
            #expect(notes.zones.map(\.name) == ["_defaultZone", "Trips / 2026 & more", "many"])
            #expect(notes.zones.map(\.file.lines) == [2, 3, 250])
            #expect(notes.publicRecords.lines == 2)
            #expect(first.assetCount == 3 && first.assetBytes == 24)
            let records = try folder.records("first", first)
            let line = try folder.lines("first", notes.zones[0].file).joined()
            #expect(line.contains(#""type":"STRING","value":"the secret of the default zone","isEncrypted":true"#))
            let schema = try String(contentsOfFile: folder["first"] + "/" + notes.schema.path, encoding: .utf8)
            let parsed = try SchemaDocument(parsing: schema)
            #expect(parsed.types["Note"]?.fields["secret"]?.type == FieldType(.string, isEncrypted: true))
            #expect(parsed.types["Trip"]?.fields["pictures"]?.type == FieldType(.asset, isList: true))
            let mode = try FileManager.default.attributesOfItem(atPath: folder["first"])[.posixPermissions] as? Int
            #expect(mode == 0o700)

            try await TestCloud.run { cloud in
                let device = try await cloud.user("grace").device()
                _ = try await device.container(Self.notes)
                _ = try await device.container(Self.photos)
                let report = try await folder.importing("first", into: device)
                #expect(report.failures.isEmpty && report.failed == 0)
                // The record of the user is there from the first sign-in on, in the private and the public database of all three.
                #expect(report.created == first.recordCount - 6 && report.left == 6 && report.updated == 0)
                let second = try await folder.export(device, as: "second")
                #expect(try folder.records("second", second) == records)
                #expect(second.assetCount == first.assetCount && second.assetBytes == first.assetBytes)
                let again = try await folder.importing("first", into: device)
                #expect(again.created == 0 && again.left == first.recordCount && again.failed == 0)
                // Apps find it, and the tree is whole.
                let database = try await device.container(Self.notes).privateCloudDatabase
                let trips = CKRecordZone.ID(zoneName: "Trips / 2026 & more")
                let child = try await database.record(for: CKRecord.ID(recordName: "a child", zoneID: trips))
                #expect(child.parent?.recordID.recordName == "z root")
                #expect(child.encryptedValues["secret"] as? String == "of the child")
            }
        }
    }

    @Test func `production is exported, and imported where its schema is`() async throws {
        try await ArchiveFolder.with { folder in
            let schema = """
                DEFINE SCHEMA
                    RECORD TYPE Note (
                        title STRING,
                        secret ENCRYPTED STRING
                    );
                """
            try await TestCloud.run { cloud in
                try await cloud.schema(text: schema, in: Self.notes)
                let device = try await cloud.user("ada").device()
                let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n"))
                note["title"] = "in production"
                note.encryptedValues["secret"] = "sealed"
                try await device.container(Self.notes, .production).privateCloudDatabase.save(note)
                let manifest = try await folder.export(device, as: "first")
                #expect(manifest.containers.map(\.title).contains("\(Self.notes) (production)"))
                #expect(!manifest.containers.map(\.title).contains("\(Self.notes) (development)"))
            }
            try await TestCloud.run { cloud in
                let device = try await cloud.user("ada").device()
                _ = try await device.container(Self.notes, .production)
                let refused = try await folder.importing("first", into: device)
                #expect(refused.failed == 1 && refused.failures.first?.recordName == "n", "\(refused)")
                try await cloud.schema(text: schema, in: Self.notes)
                let report = try await folder.importing("first", into: device)
                #expect(report.created == 1 && report.failed == 0)
            }
        }
    }

    @Test func `newer records stay, older ones are replaced`() async throws {
        try await ArchiveFolder.with { folder in
            try await TestCloud.run { cloud in
                let device = try await cloud.user("ada").device()
                let database = try await device.container(Self.notes).privateCloudDatabase
                func save(_ name: String, _ text: String, secret: String? = nil) async throws {
                    let id = CKRecord.ID(recordName: name)
                    let record = (try? await database.record(for: id)) ?? CKRecord(recordType: "Note", recordID: id)
                    record["title"] = text
                    record["extra"] = secret == nil ? "more" : nil
                    record.encryptedValues["secret"] = secret
                    try await database.save(record)
                }
                try await save("old", "first")
                try await save("new", "first", secret: "one")
                cloud.clock.advance(by: .seconds(10))
                try await save("old", "second", secret: "two")
                try await folder.export(device, as: "export")
                cloud.clock.advance(by: .seconds(10))
                try await save("new", "third", secret: "three")
                let report = try await folder.importing("export", into: device)
                #expect(report.created == 0 && report.updated == 0 && report.left == 6)
                #expect(try await database.record(for: CKRecord.ID(recordName: "new"))["title"] as? String == "third")

                // What was deleted since comes back.
                try await database.deleteRecord(withID: CKRecord.ID(recordName: "new"))
                let restored = try await folder.importing("export", into: device)
                #expect(restored.created == 1 && restored.left == 5)
                let record = try await database.record(for: CKRecord.ID(recordName: "new"))
                #expect(record["title"] as? String == "first" && record.encryptedValues["secret"] as? String == "one")
            }
            // A cloud whose copy is older than the export.
            try await TestCloud.run(clock: TestClock(startingAt: Date(timeIntervalSinceNow: -86_400))) { cloud in
                let device = try await cloud.user("ada").device()
                let database = try await device.container(Self.notes).privateCloudDatabase
                let id = CKRecord.ID(recordName: "old")
                let older = CKRecord(recordType: "Note", recordID: id)
                older["title"] = "older"
                older["extra"] = "goes"
                older.encryptedValues["secret"] = "older"
                try await database.save(older)
                cloud.clock.advance(by: .seconds(200_000))
                let report = try await folder.importing("export", into: device)
                #expect(report.updated == 1 && report.created == 1 && report.failed == 0, "\(report)")
                let record = try await database.record(for: id)
                #expect(record["title"] as? String == "second" && record["extra"] == nil)
                #expect(record.encryptedValues["secret"] as? String == "two")
                // What apps save on top of it works as ever.
                record.encryptedValues["secret"] = "three"
                try await database.save(record)
                #expect(try await folder.importing("export", into: device).updated == 0)
            }
        }
    }

    @Test func `shares are listed with their people, and not made`() async throws {
        try await ArchiveFolder.with { folder in
            try await TestCloud.run { cloud in
                let device = try await cloud.user("ada").device()
                let ada = try await device.container(Self.notes)
                let benDevice = try await cloud.user("ben").device()
                let ben = try await benDevice.container(Self.notes)
                let zone = CKRecordZone.ID(zoneName: "shared")
                try await ada.privateCloudDatabase.save(CKRecordZone(zoneID: zone))
                let root = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "root", zoneID: zone))
                let share = CKShare(rootRecord: root)
                share[CKShare.SystemFieldKey.title] = "Our list"
                let participant = try await ada.shareParticipant(forEmailAddress: "ben@example.com")
                participant.permission = .readWrite
                share.addParticipant(participant)
                let saved = try await ada.privateCloudDatabase.modifyRecords(saving: [root, share], deleting: [])
                let made = try #require(try saved.saveResults[share.recordID]?.get() as? CKShare)
                let link = try #require(made.url)
                try await ben.accept(try await ben.shareMetadata(for: link))

                let manifest = try await folder.export(device, as: "ada")
                let exported = try #require(manifest.containers.first)
                let mine = try ExportReader(folder["ada"]).shares(of: exported.shares)
                #expect(mine.map(\.title) == ["Our list"] && mine.first?.root == "root")
                #expect(mine.first?.participants.map(\.role) == ["owner", "privateUser"])
                #expect(mine.first?.participants.last?.contact == "ben@example.com")
                #expect(mine.first?.participants.last?.acceptance == "accepted")
                let theirs = try await folder.export(benDevice, as: "ben")
                let joined = try ExportReader(folder["ben"]).shares(
                    of: try #require(theirs.containers.first).sharedWithMe)
                #expect(joined.map(\.title) == ["Our list"] && joined.first?.owner != nil)
                let text = try String(contentsOfFile: folder["ada"] + "/" + exported.shares.path, encoding: .utf8)
                #expect(!text.contains("#") && !text.contains(link.fragment() ?? "#"))

                let report = try await folder.importing("ada", into: benDevice)
                #expect(report.shares.map(\.title) == ["Our list"])
                let zones = try await ben.privateCloudDatabase.allRecordZones().map(\.zoneID.zoneName)
                #expect(zones.contains("shared"))
            }
        }
    }
}
