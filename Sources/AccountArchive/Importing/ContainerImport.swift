import CloudKitClient
import CloudKitDevice
import CloudKitModel
import Foundation
import JSONBytes

/// Imports one container in one environment.
struct ContainerImport {
    private let container: ExportedContainer
    private let reader: ExportReader
    private let connection: ContainerConnection
    /// The outcome so far, of this container and those before it.
    private(set) var report: ImportReport

    init(
        _ container: ExportedContainer, of reader: ExportReader, connection: ContainerConnection, report: ImportReport
    ) {
        self.container = container
        self.reader = reader
        self.connection = connection
        self.report = report
    }

    mutating func run() async throws {
        let user = try await connection.requests(.private).currentUser().recordName
        try await createZones()
        for zone in container.zones {
            try await importRecords(of: zone.file, into: ZoneID(zoneName: zone.name), of: .private, as: user)
        }
        try await importRecords(of: container.publicRecords, into: .default, of: .public, as: user)
        report.shares += try reader.shares(of: container.shares)
        report.joinedShares += try reader.shares(of: container.sharedWithMe)
    }

    private func createZones() async throws {
        let requests = connection.requests(.private)
        let known = Set(try await requests.allZones().map(\.id.zoneName))
        let missing = container.zones.filter { !known.contains($0.name) }
        for start in stride(from: 0, to: missing.count, by: Self.batchMax) {
            let part = missing[start..<min(start + Self.batchMax, missing.count)]
            let saving = part.map { zone in
                (
                    id: ZoneID(zoneName: zone.name),
                    encryptionScope: zone.hasKeyPerZone ? ZoneEncryptionScope.perZone : .perRecord
                )
            }
            for outcome in try await requests.modify(try ZoneModification(saving: saving, deleting: [])) {
                _ = try outcome.result.get()
            }
        }
    }

    /// Records of one request.
    private static let batchMax = 200
    /// Bytes of lines of one request, which sealing makes longer by a third.
    private static let batchBytesMax = 1 << 20

    /// - Parameter user: The record name of the user here.
    private mutating func importRecords(
        of file: ExportedFile, into zone: ZoneID, of scope: DatabaseScope, as user: String
    ) async throws {
        var names: [String] = []
        var needed: [[String]] = []
        var lines: [ExportReader.Line] = []
        try reader.readRecords(of: file) { (record, line) throws(ArchiveError) in
            names.append(record.recordName)
            needed.append(record.needed)
            lines.append(line)
        }
        guard let handle = FileHandle(forReadingAtPath: reader.url(of: file.path).path) else {
            throw ArchiveError.damaged(file: file.path, reason: "is missing")
        }
        defer { try? handle.close() }
        var batch: [ExportedRecord] = []
        var batchBytes = 0
        for position in ImportOrder.positions(of: names, needed: needed) {
            let line = lines[position]
            if batch.count == Self.batchMax || (!batch.isEmpty && batchBytes + line.length > Self.batchBytesMax) {
                try await send(batch, into: zone, of: scope, as: user)
                batch = []
                batchBytes = 0
            }
            batch.append(try reader.record(at: line, in: file, handle))
            batchBytes += line.length
        }
        if !batch.isEmpty { try await send(batch, into: zone, of: scope, as: user) }
    }

    private mutating func send(
        _ batch: [ExportedRecord], into zone: ZoneID, of scope: DatabaseScope, as user: String
    ) async throws {
        let requests = connection.requests(scope)
        let complete = batch.filter { $0.problem == nil }
        report.incomplete += batch.count - complete.count
        let records = complete.map { $0.belonging(to: user, before: container.userRecordName) }
        if records.isEmpty { return }
        let held = try await held(records, in: zone, requests)
        var items: [ModifyPlan.Item] = []
        for record in records {
            let found = held[record.recordName]
            guard record.isNewer(than: found?.record) else {
                report.left += 1
                continue
            }
            items.append(try item(of: record, in: zone, scope, over: found))
        }
        if items.isEmpty { return }
        for outcome in try await Self.outcomes(of: items, requests) {
            switch outcome.result {
            case .success:
                if held[outcome.item.id.recordName] == nil { report.created += 1 } else { report.updated += 1 }
            case .failure(.refused(let failure)) where failure.code == .quotaExceeded:
                throw CallFailure.refused(failure)
            case .failure(let failure):
                report.note(
                    ImportReport.Failure(
                        container: container.title, zone: scope == .public ? nil : zone.zoneName,
                        recordName: outcome.item.id.recordName, reason: failure.sentence))
            }
        }
    }

    /// Saves records, and halves of them one after the other where the cloud takes smaller requests.
    private static func outcomes(
        of items: [ModifyPlan.Item], _ requests: DatabaseRequests
    ) async throws -> [ModifyItemOutcome] {
        do {
            return try await requests.sendByZone(
                ModifyPlan(saves: items, deletes: [], isAtomic: false, scope: requests.scope))
        } catch CallFailure.refused(let failure)
            where items.count > 1 && [.sizeLimitExceeded, .itemLimitExceeded].contains(failure.code)
        {
            let middle = items.count / 2
            let first = try await outcomes(of: Array(items[..<middle]), requests)
            return first + (try await outcomes(of: Array(items[middle...]), requests))
        }
    }

    /// Returns the records that are there already, by name: with their fields where they will be replaced.
    private func held(
        _ records: [ExportedRecord], in zone: ZoneID, _ requests: DatabaseRequests
    ) async throws -> [String: OpenedRecord] {
        func fetch(_ names: [String], _ desiredKeys: [String]?) async throws -> [Record] {
            if names.isEmpty { return [] }
            let request = LookupRecordsRequest(
                records: names.map { LookupRecordsRequest.Item(recordName: $0) }, zoneID: zone,
                desiredKeys: desiredKeys)
            return try await requests.lookup(request).compactMap { outcome in
                switch outcome {
                case .record(let record): return record
                case .deleted: return nil
                case .failed(_, let failure) where failure.code == .itemNotFound: return nil
                case .failed(_, let failure): throw CallFailure.refused(failure)
                }
            }
        }
        var held: [String: OpenedRecord] = [:]
        for record in try await fetch(records.map(\.recordName), []) {
            held[record.id.recordName] = OpenedRecord(record)
        }
        let replaced = records.filter { record in
            held[record.recordName].map { record.isUser || record.isNewer(than: $0.record) } ?? false
        }
        for opened in await requests.opened(try await fetch(replaced.map(\.recordName), nil)) {
            held[opened.record.id.recordName] = opened
        }
        return held
    }

    // MARK: Items

    /// - Parameter held: The record that is there and is replaced; nil: there is none.
    private func item(
        of record: ExportedRecord, in zone: ZoneID, _ scope: DatabaseScope, over held: OpenedRecord?
    ) throws -> ModifyPlan.Item {
        var changes: [FieldChange] = []
        var sealed: [Field] = []
        var assets: [AssetField] = []
        for field in record.fields {
            switch field.content {
            case .json(let json) where field.type.isEncrypted:
                let type = FieldType(field.type.base, isList: field.type.isList)
                sealed.append(Field(name: field.name, type: type, json: json))
            case .json(let json): changes.append(.set(try Field(canonical: json, field.type, name: field.name)))
            case .files(let files):
                guard !files.isEmpty else {
                    changes.append(.set(Field(name: field.name, type: field.type, json: Array("[]".utf8))))
                    continue
                }
                assets.append(
                    AssetField(
                        name: field.name, isList: field.type.isList,
                        assets: files.map { ArchivedAsset(fileURL: reader.url(of: $0.path)) }))
            }
        }
        let names = Set(record.fields.map(\.name))
        changes += (held?.record.fields ?? []).filter { !names.contains($0.name) }.map { .remove(name: $0.name) }
        changes.sort { $0.name < $1.name }
        let heldParent = held?.record.parent
        var change = RecordChange(
            recordName: record.recordName, recordType: record.recordType, fields: changes,
            changeTag: held?.record.changeTag,
            parent: record.parent.map { .set(recordName: $0) } ?? (heldParent == nil ? .keep : .remove))
        if held == nil, assets.isEmpty { change.desiredKeys = [] }
        var secrets: RecordSecrets?
        let isStated = held?.record.protection != nil
        if scope == .private, !sealed.isEmpty || !assets.isEmpty || record.parent != nil || isStated {
            secrets = RecordSecrets(
                fields: sealed, recordType: record.recordType, parent: record.parent,
                isMoved: record.parent != heldParent, held: held?.record.protection, created: held?.record.created)
        }
        return ModifyPlan.Item(
            id: RecordID(recordName: record.recordName, zoneID: zone),
            operation: RecordOperation(held == nil ? .create : .update, change), owners: record.needed,
            secrets: secrets, assets: assets)
    }
}

/// The file of an asset in an export, on its way to the cloud.
private struct ArchivedAsset: OutgoingAsset {
    var fileURL: URL?
    var kept: UploadedAsset? { nil }
    var imported: ImportedAsset? { nil }

    func note(sending stamp: FileStamp) {}
}

extension ExportedRecord {
    /// A Boolean value that indicates whether the record represents the user in the container.
    fileprivate var isUser: Bool { recordType == "Users" }

    /// Returns whether the export has a newer version than the cloud. The record of the user is there from the first sign-in on, empty.
    fileprivate func isNewer(than held: Record?) -> Bool {
        guard let held else { return true }
        if isUser, fields.isEmpty || held.fields.isEmpty { return !fields.isEmpty }
        return modified.timestamp > held.modified.timestamp
    }

    /// Returns the record for another user: the record that represents the user has another name there, and references to it as well.
    ///
    /// - Parameters:
    ///   - user: The user's record name here.
    ///   - before: The one in the cloud of the export.
    fileprivate func belonging(to user: String, before: String) -> ExportedRecord {
        guard user != before else { return self }
        var record = self
        if isUser, recordName == before { record.recordName = user }
        for index in record.fields.indices where record.fields[index].type.base == .reference {
            let field = record.fields[index]
            guard case .json(let json) = field.content,
                let value = try? Field(name: field.name, type: field.type, json: json).value(),
                let renamed = try? value.renaming(before, to: user).json()
            else { continue }
            record.fields[index].content = .json(renamed)
        }
        return record
    }
}

extension FieldValue {
    fileprivate func renaming(_ before: String, to name: String) -> FieldValue {
        switch self {
        case .reference(var reference):
            if reference.recordName == before { reference.recordName = name }
            // The owner of a zone has another name as well; a reference stays in its zone.
            reference.zoneID = nil
            return .reference(reference)
        case .list(let base, let values): return .list(base, values.map { $0.renaming(before, to: name) })
        default: return self
        }
    }
}

extension Field {
    /// Creates a field of JSON that need not be in the form in which fields are stored.
    ///
    /// - Throws: `RequestFailure` for JSON that is no value of the type.
    fileprivate init(canonical json: [UInt8], _ type: FieldType, name: String) throws {
        self = try withJSON(json) { reader in try Field(name: name, tag: type, value: try reader.value()) }
    }
}
