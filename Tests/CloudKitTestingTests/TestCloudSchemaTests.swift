import CloudKit
import CloudKitTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(20))) struct TestCloudSchemaTests {
    private let container = "iCloud.com.example.schema"

    private func names(
        _ database: CKDatabase, sortedBy key: String? = nil
    ) async throws -> [String] {
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        if let key { query.sortDescriptors = [NSSortDescriptor(key: key, ascending: true)] }
        return try await database.records(matching: query).matchResults.map(\.0.recordName)
    }

    private func file(_ name: String, _ text: String) throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appending(path: "welkin-seed-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: name)
        try Data(text.utf8).write(to: file)
        return file
    }

    @Test func `a query for all records works in a fresh cloud`() async throws {
        try await TestCloud.run { cloud in
            let database = try await cloud.user().device().container(container).privateCloudDatabase
            _ = try await database.save(CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n")))
            #expect(try await names(database) == ["n"])
        }
    }

    @Test func `a refused query names the call and the command that mend it`() async throws {
        try await TestCloud.run { cloud in
            let database = try await cloud.user().device().container(container).privateCloudDatabase
            for name in ["b", "a"] {
                _ = try await database.save(CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name)))
            }
            let error = await #expect(throws: CKError.self) {
                _ = try await names(database, sortedBy: "creationDate")
            }
            let text = "\(error.map { String(describing: $0) + $0.localizedDescription } ?? "")"
            #expect(text.contains("welkin schema index \(container) Note ___createTime --sortable"))
            #expect(text.contains("cloud.index(\"___createTime\", of: \"Note\", in: \"\(container)\", [.sortable])"))
            try await cloud.index("creationDate", of: "Note", in: container, [.sortable])
            #expect(try await names(database, sortedBy: "creationDate").count == 2)
        }
    }

    @Test func `B-SCH-02 production takes what the schema has, and no more`() async throws {
        let schema = try file(
            "schema.ckdb",
            """
            DEFINE SCHEMA RECORD TYPE Note ("___recordID" REFERENCE QUERYABLE, title STRING QUERYABLE,
                GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator");
            """)
        defer { try? FileManager.default.removeItem(at: schema.deletingLastPathComponent()) }
        try await TestCloud.run { cloud in
            try await cloud.schema(schema.path, in: container)
            let device = try await cloud.user().device()
            let database = try await device.container(container, .production).privateCloudDatabase
            let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n"))
            note["title"] = "x"
            _ = try await database.save(note)
            #expect(try await names(database) == ["n"])
            let error = await #expect(throws: CKError.self) {
                _ = try await database.save(CKRecord(recordType: "Contact"))
            }
            let text = error.map { String(describing: $0) + $0.localizedDescription } ?? ""
            #expect(text.contains("Cannot create new type Contact in production schema"))
            #expect(text.contains("welkin schema deploy"))
            #expect(try await cloud.exportSchema(of: container, .production).contains("RECORD TYPE Note ("))
            let fault = await #expect(throws: TestCloudError.self) {
                try await cloud.schema(text: "DEFINE SCHEMA RECORD", in: container)
            }
            #expect(fault?.description.contains("line 1, column 21") == true)
        }
    }

    @Test func `records are seeded from a folder`() async throws {
        let seed = try file(
            "notes.json",
            """
            [{"recordType": "Note", "recordName": "a", "fields": {
                "title": "first", "stars": 3, "done": true, "score": 0.5, "tags": ["x", "y"],
                "when": {"type": "timestampType", "value": "2024-05-01T10:00:00Z"},
                "place": {"latitude": 1, "longitude": 2}, "to": {"type": "referenceType", "value": "b"}}},
             {"recordType": "Note", "recordName": "b", "zone": "Other"}]
            """)
        defer { try? FileManager.default.removeItem(at: seed.deletingLastPathComponent()) }
        try await TestCloud.run { cloud in
            let ada = try await cloud.user()
            let saved = try await cloud.seed(seed.deletingLastPathComponent().path, as: ada, in: container)
            #expect(saved.map(\.recordID.recordName) == ["a", "b"])
            let database = try await ada.device().container(container).privateCloudDatabase
            let first = try await database.record(for: CKRecord.ID(recordName: "a"))
            #expect(first["title"] as? String == "first")
            #expect(first["stars"] as? Int64 == 3)
            #expect(first["tags"] as? [String] == ["x", "y"])
            #expect(first["when"] as? Date == Date(timeIntervalSince1970: 1_714_557_600))
            #expect((first["to"] as? CKRecord.Reference)?.recordID.recordName == "b")
            #expect(saved[1].recordID.zoneID.zoneName == "Other")
            let wrong = await #expect(throws: TestCloudError.self) {
                try await cloud.seed("/nowhere.json", as: ada, in: container)
            }
            #expect(wrong?.description.contains("/nowhere.json") == true)
        }
    }

    @Test func `many records of several files are seeded in the order of the files`() async throws {
        func items(_ numbers: Range<Int>) -> String {
            "["
                + numbers.map { #"{"recordType": "Note", "recordName": "n\#($0)", "zone": "Notes"}"# }.joined(
                    separator: ",") + "]"
        }
        let first = try file("1.json", items(0..<1300))
        let folder = first.deletingLastPathComponent()
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data(items(1300..<1500).utf8).write(to: folder.appending(path: "2.json"))
        try await TestCloud.run { cloud in
            let ada = try await cloud.user()
            let saved = try await cloud.seed(folder.path, as: ada, in: container)
            #expect(saved.map(\.recordID.recordName) == (0..<1500).map { "n\($0)" })
            #expect(saved.allSatisfy { $0.recordChangeTag != nil })

            // A file that cannot be read ends the seeding with its name, whatever is being saved.
            try Data("[{}]".utf8).write(to: folder.appending(path: "3.json"))
            let wrong = await #expect(throws: (any Error).self) {
                try await cloud.seed(folder.appending(path: "3.json").path, as: ada, in: container)
            }
            #expect("\(wrong.map { String(describing: $0) } ?? "")".contains("3.json"))
        }
    }
}
