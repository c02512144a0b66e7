import AccountArchive
import CloudKit
import CloudKitClient
import CloudKitModel
import CloudKitTesting
import Foundation
import ScriptedCloud
import Testing

/// Folders that are no exports, exports that are damaged, and clouds that cannot take them.
@Suite(.timeLimit(.minutes(20))) struct DamagedExportTests {
    private static let notes = "iCloud.com.example.notes"
    private static let tests = "iCloud.com.example.tests"

    /// Exports an account with two records and a file, and runs the body with the cloud and the device.
    private func withExport(
        _ body: (ArchiveFolder, TestCloud, TestDevice, ExportManifest) async throws -> Void
    ) async throws {
        try await ArchiveFolder.with { folder in
            try await TestCloud.run { cloud in
                let device = try await cloud.user("ada").device()
                let database = try await device.container(Self.notes).privateCloudDatabase
                let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n"))
                note["title"] = "one"
                let file = URL(fileURLWithPath: folder["file"])
                try Data("contents".utf8).write(to: file)
                note["file"] = CKAsset(fileURL: file)
                try await database.save(note)
                let manifest = try await folder.export(device, as: "export")
                try await body(folder, cloud, device, manifest)
            }
        }
    }

    private func failure(_ body: () async throws -> Void) async -> ArchiveError? {
        await #expect(throws: ArchiveError.self) { try await body() }
    }

    @Test func `an existing folder is not written to`() async throws {
        try await withExport { folder, _, device, _ in
            #expect(await failure { try await folder.export(device, as: "export") } == .folderExists(folder["export"]))
            try FileManager.default.createDirectory(atPath: folder["empty"], withIntermediateDirectories: false)
            #expect(await failure { try await folder.export(device, as: "empty") } == .folderExists(folder["empty"]))
            #expect(await failure { try await folder.export(device, as: "no/where") } != nil)
        }
    }

    @Test func `a folder without a manifest, and one of a later version, are refused`() async throws {
        try await withExport { folder, _, device, _ in
            let manifest = folder["export"] + "/manifest.json"
            let text = try String(contentsOfFile: manifest, encoding: .utf8)
            try text.replacing("\"format\" : 1", with: "\"format\" : 2").write(
                toFile: manifest, atomically: true, encoding: .utf8)
            #expect(await failure { try await folder.importing("export", into: device) } == .versionUnknown(2))
            try "{".write(toFile: manifest, atomically: true, encoding: .utf8)
            guard case .manifestUnreadable = await failure({ try await folder.importing("export", into: device) })
            else {
                Issue.record("a manifest that is no JSON")
                return
            }
            try FileManager.default.removeItem(atPath: manifest)
            let missing = await failure { try await folder.importing("export", into: device) }
            #expect(missing == .notAnExport(folder["export"]))
            #expect(missing?.description.contains("was not finished") == true)
            #expect(
                await failure { try await folder.importing("nothing", into: device) } == .notAnExport(folder["nothing"])
            )
        }
    }

    @Test(arguments: ["changed", "cut", "missing", "file", "file missing", "outside"])
    func `a damaged export is refused before anything is sent`(_ kind: String) async throws {
        try await withExport { folder, _, device, manifest in
            let database = try await device.container(Self.notes).privateCloudDatabase
            try await database.deleteRecord(withID: CKRecord.ID(recordName: "n"))
            let container = try #require(manifest.containers.first)
            let records = folder["export"] + "/" + container.zones[0].file.path
            let files = folder["export"] + "/files"
            let asset = try #require(try FileManager.default.contentsOfDirectory(atPath: files).first)
            let text = try String(contentsOfFile: records, encoding: .utf8)
            switch kind {
            case "changed":
                try text.replacing("one", with: "two").write(toFile: records, atomically: true, encoding: .utf8)
            case "cut": try String(text.dropLast(5)).write(toFile: records, atomically: true, encoding: .utf8)
            case "missing": try FileManager.default.removeItem(atPath: records)
            case "file": try Data("other".utf8).write(to: URL(fileURLWithPath: files + "/" + asset))
            case "file missing": try FileManager.default.removeItem(atPath: files + "/" + asset)
            default:
                let path = folder["export"] + "/manifest.json"
                try String(contentsOfFile: path, encoding: .utf8).replacing(
                    container.shares.path, with: "../shares.jsonl"
                )
                .write(toFile: path, atomically: true, encoding: .utf8)
            }
            guard case .damaged = await failure({ try await folder.importing("export", into: device) }) else {
                Issue.record("not refused")
                return
            }
            await #expect(throws: CKError.self) { try await database.record(for: CKRecord.ID(recordName: "n")) }
        }
    }

    @Test func `a cloud that lacks the container says so, or it is left out`() async throws {
        try await withExport { folder, _, _, _ in
            try await TestCloud.run { other in
                let device = try await other.user("ada").device()
                let error = await failure { try await folder.importing("export", into: device) }
                #expect(error == .containersMissing(["\(Self.notes) (development)"]))
                #expect(error?.description.contains("welkin token create") == true)
                let report = try await folder.importing("export", into: device, skipsMissing: true)
                #expect(report.created == 0 && report.missingContainers == ["\(Self.notes) (development)"])
            }
        }
    }

    /// The reset marks the databases of both environments, which made the account known where it had never been.
    @Test func `an account whose keys were reset is exported from where it has been`() async throws {
        try await ArchiveFolder.with { folder in
            try await TestCloud.run { cloud in
                let user = try await cloud.user("ada")
                let earlier = try await user.device()
                try await earlier.container(Self.notes).privateCloudDatabase.save(CKRecord(recordType: "Note"))
                try await cloud.resetKeys(of: user)
                let device = try await user.device("new")
                let manifest = try await folder.export(device, as: "export")
                // The order to reset keys goes to a container as well.
                #expect(manifest.containers.map(\.title) == [Self.notes, Self.tests].map { "\($0) (development)" })
            }
            try await TestCloud.run { other in
                let device = try await other.user("ada").device()
                for container in [Self.notes, Self.tests] { _ = try await device.container(container).userRecordID() }
                #expect(try await folder.importing("export", into: device).created == 1)
            }
        }
    }

    @Test func `an import into an account that is full says so, and goes on when there is room`() async throws {
        try await withExport { folder, _, _, _ in
            try await TestCloud.run { other in
                let user = try await other.user("ada")
                let device = try await user.device()
                _ = try await device.container(Self.notes).userRecordID()
                try await other.setQuota(bytes: 1, of: user, in: Self.notes)
                let error = await failure { try await folder.importing("export", into: device) }
                guard case .quotaExceeded = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
                try await other.removeFaults()
                let report = try await folder.importing("export", into: device)
                #expect(report.created == 1 && report.failed == 0)
            }
        }
    }

    @Test(arguments: [
        "{", "[]", "{}", #"{"recordName":"a","recordType":"Note"}{"#, #"{"recordName":"","recordType":"Note"}"#,
        #"{"recordName":"a","recordType":"Note","fields":{"f":{"type":"STRING","value":1}}}"#,
        #"{"recordName":"a","recordType":"Note","fields":{"f":{"value":1}}}"#,
        #"{"recordName":"a","recordType":"Note","fields":{"f":{"type":"INT64","value":1},"f":{"type":"INT64","value":1}}}"#,
        #"{"recordName":"a","recordType":"Note","fields":{"f":{"type":"ASSETID","value":{"file":"../../etc/passwd","size":1}}}}"#,
        #"{"recordName":"a","recordType":"Note","fields":{"f":{"type":"REFERENCE","value":{"recordName":"b"},"isEncrypted":true}}}"#,
    ])
    func `a line that is no record is refused`(_ line: String) throws {
        #expect(throws: (any Error).self) { try ExportedRecord(line: Array(line.utf8)) }
    }

    @Test func `a cloud that takes small requests gets the records in parts`() async throws {
        try await withExport { folder, cloud, device, _ in
            let database = try await device.container(Self.notes).privateCloudDatabase
            let records = (0..<40).map {
                CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "\($0)"))
            }
            _ = try await database.modifyRecords(saving: records, deleting: [])
            try await folder.export(device, as: "many")
            _ = try await database.modifyRecords(saving: [], deleting: records.map(\.recordID))
            let account = device.account { SmallRequests(base: $0) }
            let report = try await AccountImport(account).run(from: folder["many"])
            #expect(report.created == 40)
            #expect(report.failures.isEmpty)
        }
    }
}

extension URL {
    func fragment() -> String? { fragment(percentEncoded: false) }
}

/// A cloud that refuses saves of more than a few records.
private struct SmallRequests: Transport {
    let base: any Transport

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        if request.url.path.hasSuffix("records/modify"), request.body.count > 2000 {
            return .refusal(RequestFailure(.sizeLimitExceeded, "request too large"))
        }
        return try await base.send(request)
    }
}
