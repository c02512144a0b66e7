import AccountArchive
import CloudKitClient
import CloudKitTesting
import Foundation

/// A folder for exports, removed after the test.
struct ArchiveFolder {
    let path: String

    static func with<Value>(_ body: (ArchiveFolder) async throws -> Value) async throws -> Value {
        let folder = ArchiveFolder(
            path: FileManager.default.temporaryDirectory.appending(path: "welkin-archive-\(UUID().uuidString)").path)
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder.path) }
        return try await body(folder)
    }

    subscript(_ name: String) -> String { path + "/" + name }

    /// Exports the account of a device.
    @discardableResult
    func export(
        _ device: TestDevice, as name: String, since earlier: String? = nil,
        progress: @Sendable (String) -> Void = { _ in }
    ) async throws -> ExportManifest {
        try await AccountExport(device.account, program: "tests").run(
            into: self[name], since: try earlier.map { try EarlierExport(self[$0]) }, progress: progress)
    }

    /// Imports an export into the account of a device.
    @discardableResult
    func importing(_ name: String, into device: TestDevice, skipsMissing: Bool = false) async throws -> ImportReport {
        try await AccountImport(device.account).run(from: self[name], skipsMissing: skipsMissing)
    }

    /// The lines of a file of an export.
    func lines(_ name: String, _ file: ExportedFile) throws -> [String] {
        try String(contentsOfFile: self[name] + "/" + file.path, encoding: .utf8).split(separator: "\n").map(
            String.init)
    }

    /// The records of all zones and of the public database, by container, zone and name, without what every cloud decides for itself.
    func records(_ name: String, _ manifest: ExportManifest) throws -> [String: ExportedRecord] {
        var records: [String: ExportedRecord] = [:]
        for container in manifest.containers {
            let files = container.zones.map { ($0.name, $0.file) } + [("public", container.publicRecords)]
            for (zone, file) in files {
                for line in try lines(name, file) {
                    var record = try ExportedRecord(line: Array(line.utf8))
                    // The record of the user has another name in each cloud.
                    if record.recordType == "Users" { record.recordName = "user" }
                    record.changeTag = ""
                    record.share = nil
                    record.modified = record.created
                    record.created.timestamp = 0
                    record.modified = record.created
                    record.created.user = .caller
                    record.modified.user = .caller
                    record.created.deviceID = nil
                    record.modified.deviceID = nil
                    records["\(container.title)/\(zone)/\(record.recordName)"] = record
                }
            }
        }
        return records
    }
}

extension TestDevice {
    /// The account of the device, as the commands see it.
    var account: SignedInAccount { account { $0 } }

    /// The account of the device behind another network.
    func account(through network: (any Transport) -> any Transport) -> SignedInAccount {
        let (configuration, transport, clock) = parts()
        return SignedInAccount(
            configuration: configuration, container: Self.firstContainer, transport: network(transport), clock: clock)
    }
}
