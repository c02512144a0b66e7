import AccountArchive
import CloudKit
import CloudKitTesting
import Foundation
import Synchronization
import Testing

/// Exports that take from an earlier one what is as it was.
@Suite(.timeLimit(.minutes(20))) struct EarlierExportTests {
    private static let notes = "iCloud.com.example.notes"
    private static let zone = CKRecordZone.ID(zoneName: "Trips")

    private func record(_ name: String, _ text: String, in folder: ArchiveFolder) throws -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: Self.zone))
        record.encryptedValues["text"] = text
        let file = URL(fileURLWithPath: folder["\(name)-\(text)"])
        try Data("the file of \(name), \(text)".utf8).write(to: file)
        record["file"] = CKAsset(fileURL: file)
        return record
    }

    /// Makes an export named `first` of three records, then changes one of them, adds one and deletes one.
    private func withExport(_ body: (ArchiveFolder, TestDevice, ExportManifest) async throws -> Void) async throws {
        try await ArchiveFolder.with { folder in
            try await TestCloud.run { cloud in
                let device = try await cloud.user("ada").device()
                let database = try await device.container(Self.notes).privateCloudDatabase
                try await database.save(CKRecordZone(zoneID: Self.zone))
                for name in ["changed", "deleted", "kept", "zuletzt"] {
                    try await database.save(try record(name, "one", in: folder))
                }
                let manifest = try await folder.export(device, as: "first")
                let changed = try await database.record(for: CKRecord.ID(recordName: "changed", zoneID: Self.zone))
                changed.encryptedValues["text"] = "two"
                try await database.save(changed)
                try await database.deleteRecord(withID: CKRecord.ID(recordName: "deleted", zoneID: Self.zone))
                try await database.save(try record("new", "one", in: folder))
                try await body(folder, device, manifest)
            }
        }
    }

    /// Exports since an earlier export, and compares it with one that fetches everything.
    ///
    /// - Parameter files: The lists of the earlier export that it can be gone on from.
    /// - Returns: The number of records that were taken, and of those that are in the lists as they are now.
    private func checkSame(
        _ earlier: String, _ files: [String], _ folder: ArchiveFolder, _ device: TestDevice
    ) async throws -> (taken: Int, unchanged: Int) {
        var held: Set<Substring> = []
        for file in files {
            let text = try String(contentsOfFile: folder[earlier] + "/" + file, encoding: .utf8)
            held.formUnion(text.split(separator: "\n"))
        }
        let said = Mutex<[String]>([])
        let since = try await folder.export(device, as: "since-\(earlier)", since: earlier) { line in
            said.withLock { $0.append(line) }
        }
        let whole = try await folder.export(device, as: "whole-\(earlier)")
        #expect(since.containers == whole.containers)
        #expect(since.assetCount == whole.assetCount && since.assetBytes == whole.assetBytes)
        try ExportReader(folder["since-\(earlier)"]).check()
        #expect(!FileManager.default.fileExists(atPath: folder["since-\(earlier)"] + "/unfinished.json"))
        // A line for each container.
        let taken = said.withLock { $0 }.compactMap { $0.firstMatch(of: /: (\d+) records from/)?.1 }.compactMap {
            Int($0)
        }
        var unchanged = 0
        for container in whole.containers {
            for file in container.zones.map(\.file) + [container.publicRecords] {
                unchanged += try folder.lines("whole-\(earlier)", file).filter { held.contains($0[...]) }.count
            }
        }
        return (taken.reduce(0, +), unchanged)
    }

    @Test func `records that are as they were are taken with their files, all others are fetched`() async throws {
        try await withExport { folder, device, manifest in
            let records = try await checkSame("first", lists(manifest), folder, device)
            // Two of the four, and the record of the user.
            #expect(records.taken == records.unchanged && records.taken >= 3, "\(records)")
            let files = try FileManager.default.contentsOfDirectory(atPath: folder["since-first"] + "/files")
            #expect(files.count == 4)
        }
    }

    @Test func `a damaged or missing file of the earlier export is fetched again`() async throws {
        try await withExport { folder, device, manifest in
            let files = folder["first"] + "/files"
            for (index, name) in try FileManager.default.contentsOfDirectory(atPath: files).sorted().enumerated() {
                let path = files + "/" + name
                try FileManager.default.removeItem(atPath: path)
                if index.isMultiple(of: 2) { try Data("other".utf8).write(to: URL(fileURLWithPath: path)) }
            }
            let records = try await checkSame("first", lists(manifest), folder, device)
            #expect(records.taken == records.unchanged - 2, "\(records)")
        }
    }

    private func lists(_ manifest: ExportManifest) -> [String] {
        manifest.containers.flatMap { $0.zones.map(\.file.path) + [$0.publicRecords.path] }
    }

    @Test func `an export that was not finished is gone on from, up to a line that was cut`() async throws {
        try await withExport { folder, device, manifest in
            let container = try #require(manifest.containers.first)
            let file = try #require(container.zones.first { $0.name == Self.zone.zoneName }).file.path
            let outline: [String: Any] = [
                "cloud": manifest.cloud, "account": manifest.account,
                "containers": [
                    [
                        "container": container.container, "environment": container.environment,
                        "zones": [Self.zone.zoneName: file], "publicRecords": container.publicRecords.path,
                    ]
                ],
            ]
            try FileManager.default.removeItem(atPath: folder["first"] + "/manifest.json")
            let path = folder["first"] + "/unfinished.json"
            try JSONSerialization.data(withJSONObject: outline).write(to: URL(fileURLWithPath: path))
            let records = folder["first"] + "/" + file
            try Data(contentsOf: URL(fileURLWithPath: records)).dropLast(40).write(to: URL(fileURLWithPath: records))
            let lists = [file, container.publicRecords.path]
            let found = try await checkSame("first", lists, folder, device)
            // One of the two that are as they were: the line of the other was cut. And the record of the user in the public database.
            #expect(found.taken == 2, "\(found)")
            let whole = try await folder.export(device, as: "all")
            #expect(found.taken < whole.recordCount - 2)
        }
    }

    @Test func `the export of another account and a folder that is none are refused`() async throws {
        try await withExport { folder, device, _ in
            try await TestCloud.run { cloud in
                let other = try await cloud.user("ada").device()
                _ = try await other.container(Self.notes).privateCloudDatabase.allRecordZones()
                let error = await #expect(throws: ArchiveError.self) {
                    try await folder.export(other, as: "other", since: "first")
                }
                guard case .otherAccount = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
                #expect(!FileManager.default.fileExists(atPath: folder["other"]))
            }
            try FileManager.default.createDirectory(atPath: folder["none"], withIntermediateDirectories: false)
            let error = await #expect(throws: ArchiveError.self) {
                try await folder.export(device, as: "more", since: "none")
            }
            #expect(error == .notAnExport(folder["none"]))
        }
    }
}
