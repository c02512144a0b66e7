import AccountArchive
import CloudKit
import CloudKitModel
import Foundation

// Exports of accounts, and new accounts that get them.
extension History {
    /// The name of the user whose account gets an export.
    private static let importer = "fred"

    /// A record of an export, by container, zone and name.
    private typealias Exported = [String: ExportedRecord]

    /// Exports an account, compares the export with the content, and imports it into a new account, which then has the same.
    func judgeExports(_ content: [Cell: Int]) async throws {
        guard has(.exports), chance.percent(50), let accounts = cloud.cloud?.accountStore,
            let device = chance.one(of: devices), device.app != nil
        else { return }
        let exported = try await export(device)
        judge(exported, of: device, content)
        let importer = SimulatedDevice(
            Self.importer + "-1", of: try await Self.addUser(Self.importer, to: accounts), at: cloud,
            apiTokens: apiTokens, Chance(seed: seed, subject: 51), planted: nil, notesEndings: nil,
            hardware: Hardware())
        try await importer.signIn()
        try importer.boot()
        let report = try await AccountImport(importer.account).run(from: device.exportFolder)
        for failure in report.failures where failure.zone != nil {
            violated(
                "\(failure.recordName) of \(device.name) in \(failure.zone ?? "") is not imported: \(failure.reason)")
        }
        let incomplete = exported.values.count { $0.problem != nil }
        if report.incomplete != incomplete {
            violated("\(report.incomplete) records of \(device.name) are incomplete, not \(incomplete)")
        }
        let imported = try await export(importer)
        for (place, record) in exported.sorted(by: { $0.key < $1.key })
        where record.problem == nil && imported[place] != record {
            violated(
                "\(place) of \(device.name) was imported as \(imported[place].map { "\($0)" } ?? "nothing") instead of \(record)"
            )
        }
        for place in imported.keys.sorted() where exported[place] == nil { violated("\(place) was not exported") }
    }

    /// Exports the account of a device.
    ///
    /// - Returns: The records of its own databases, without what another account has otherwise.
    private func export(_ device: SimulatedDevice) async throws -> Exported {
        let folder = device.exportFolder
        let manifest = try await AccountExport(device.account, program: "simulation").run(into: folder)
        var records: Exported = [:]
        for container in manifest.containers {
            let other = container.container == SimulatedCloud.container ? "" : container.container + "/"
            for zone in container.zones {
                let text = try String(contentsOfFile: "\(folder)/\(zone.file.path)", encoding: .utf8)
                for line in text.split(separator: "\n") {
                    var record = try ExportedRecord(line: Array(line.utf8))
                    let isOfLostKeys = keysReset.value.contains(device.user.name) && zone.name == "_defaultZone"
                    if let problem = record.problem, !isOfLostKeys {
                        violated("\(record.recordName) of \(device.name): \(problem)")
                    }
                    if record.recordType == "Users" { record.recordName = "user" }
                    record.changeTag = ""
                    record.share = nil
                    record.created = Stamp(timestamp: 0, user: .caller, deviceID: nil)
                    record.modified = record.created
                    records["\(other)\(container.environment)/\(zone.name)/\(record.recordName)"] = record
                }
            }
        }
        trail.note("\(device.name) exports \(records.count) records")
        return records
    }

    /// Compares an export with the content of the databases.
    private func judge(_ exported: Exported, of device: SimulatedDevice, _ content: [Cell: Int]) {
        var stamps: [Cell: Int] = [:]
        for (place, record) in exported where place.hasPrefix("development/") && record.recordType != "Note" {
            let zone = String(place.dropFirst("development/".count).dropLast(record.recordName.utf8.count + 1))
            guard let field = record.fields.first(where: { $0.name == "stamp" }), case .json(let json) = field.content,
                case .int64(let stamp)? = try? Field(name: field.name, type: field.type, json: json).value()
            else { continue }
            stamps[Cell(owner: device.user.name, zone: zone, name: record.recordName)] = Int(stamp)
        }
        for (cell, stamp) in content.sorted(by: { $0.key < $1.key }) where cell.owner == device.user.name {
            // Shares are exported with those of the account, and not imported.
            if cell.zone.hasSuffix(" share") { continue }
            if stamps[cell] != stamp { violated("the export of \(device.name) has \(cell) as \(stamps[cell] ?? -1)") }
        }
        // What was checked before has saved some.
        for cell in stamps.keys.sorted()
        where content[cell] == nil && !Place.isRoot(cell.name) && !cell.name.hasPrefix("last-") {
            violated("the export of \(device.name) has \(cell)")
        }
    }
}
