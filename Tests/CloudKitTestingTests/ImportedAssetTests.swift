import CloudKit
import CloudKitTesting
import Foundation
import Testing

private let notes = "iCloud.com.example.notes"
private let photos = "iCloud.com.example.photos"

/// Tests of assets that the server copies from one container to another.
@Suite struct ImportedAssetTests {
    /// Saves a file in one container and returns its exported ID, read back from an archive.
    private func export(
        _ contents: String, in database: CKDatabase, name: String = "photo"
    ) async throws -> CKAsset.ExportedAssetID {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try Data(contents.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let record = CKRecord(recordType: "Photo", recordID: .init(recordName: name))
        record["file"] = CKAsset(fileURL: file)
        try await database.save(record)
        let fetched = try await database.record(for: record.recordID)
        let id = try #require((fetched["file"] as? CKAsset)?.exportedAssetID)
        return try JSONDecoder().decode(CKAsset.ExportedAssetID.self, from: JSONEncoder().encode(id))
    }

    private func note(_ id: CKAsset.ExportedAssetID, _ name: String = "note") -> CKRecord {
        let note = CKRecord(recordType: "Note", recordID: .init(recordName: name))
        note["attachment"] = CKAsset(importing: id)
        return note
    }

    private func contents(_ name: String, in database: CKDatabase) async throws -> String {
        let record = try await database.record(for: .init(recordName: name))
        let file = try #require((record["attachment"] as? CKAsset)?.fileURL)
        return try String(contentsOf: file, encoding: .utf8)
    }

    @Test func `B-AST-07 a sealed asset of another container is copied by the server and opens on every device`()
        async throws
    {
        try await TestCloud.run { cloud in
            let ada = try await cloud.user("ada")
            let device = try await ada.device()
            let source = try await device.container(photos).privateCloudDatabase
            let target = try await device.container(notes).privateCloudDatabase
            let id = try await export("a picture", in: source)
            let record = note(id)
            device.network.reset()
            try await target.save(record)
            let endpoints = device.network.exchanges.map(\.endpoint)
            #expect(endpoints.contains("assets/import"))
            #expect(!endpoints.contains("asset/upload") && !endpoints.contains("asset/download"))
            // A second save of the same asset needs no other copy.
            record["title"] = "again"
            try await target.save(record)
            #expect(device.network.exchanges.filter { $0.endpoint == "assets/import" }.count == 1)
            // The copy does not depend on the source.
            try await source.deleteRecord(withID: .init(recordName: "photo"))
            #expect(try await contents("note", in: target) == "a picture")
            let laptop = try await ada.device("laptop").container(notes).privateCloudDatabase
            #expect(try await contents("note", in: laptop) == "a picture")
        }
    }

    @Test func `B-AST-07 an asset of another account is unknown, one whose time is over is not available`() async throws
    {
        try await TestCloud.run { cloud in
            let ada = try await cloud.user("ada").device()
            let id = try await export("a picture", in: try await ada.container(photos).privateCloudDatabase)
            let bob = try await cloud.user("bob").device().container(notes).privateCloudDatabase
            let stranger = await #expect(throws: CKError.self) { try await bob.save(note(id)) }
            #expect(stranger?.code == .unknownItem)
            cloud.clock.advance(by: .seconds(7 * 3600))
            let target = try await ada.container(notes).privateCloudDatabase
            let late = await #expect(throws: CKError.self) { try await target.save(note(id)) }
            #expect(late?.code == .assetNotAvailable)
            #expect(CKAsset(fileURL: URL(fileURLWithPath: "/nowhere")).exportedAssetID == nil)
        }
    }

    @Test func `B-AST-07 plain assets are copied between public databases, and not where files are sealed`()
        async throws
    {
        try await TestCloud.run { cloud in
            let device = try await cloud.user("ada").device()
            let (photos, notes) = (try await device.container(photos), try await device.container(notes))
            let plain = try await export("for all", in: photos.publicCloudDatabase, name: "plain")
            try await notes.publicCloudDatabase.save(note(plain))
            #expect(try await contents("note", in: notes.publicCloudDatabase) == "for all")
            let sealed = try await export("for me", in: photos.privateCloudDatabase, name: "sealed")
            for (id, database) in [(plain, notes.privateCloudDatabase), (sealed, notes.publicCloudDatabase)] {
                let refusal = await #expect(throws: CKError.self) { try await database.save(note(id, "other")) }
                #expect(refusal?.code == .invalidArguments)
            }
        }
    }
}
