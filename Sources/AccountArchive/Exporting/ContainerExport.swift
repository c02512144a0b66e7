import CloudKitClient
import CloudKitDevice
import CloudKitModel
import Foundation

/// Exports one container in one environment.
struct ContainerExport {
    private let place: AccountContainer
    private let connection: ContainerConnection
    private let folder: ExportFolder
    private let path: String
    private var schema = ObservedSchema()
    /// Files of assets that this container added to the folder.
    private(set) var assetCount = 0
    /// Bytes of those files.
    private(set) var assetBytes: Int64 = 0
    /// Records that were taken from the earlier export.
    private(set) var takenCount = 0
    private let earlier: EarlierExport?

    /// - Parameters:
    ///   - number: Of the container in the export, for its folder.
    ///   - earlier: An earlier export; nil: everything is fetched.
    init(
        _ place: AccountContainer, connection: ContainerConnection, folder: ExportFolder, number: Int,
        earlier: EarlierExport? = nil
    ) {
        self.earlier = earlier
        self.place = place
        self.connection = connection
        self.folder = folder
        path = ExportFolder.containers + "/\(number)-" + Self.fileName("\(place.container)-\(place.environment)")
    }

    /// Returns a name that is safe for files: letters, digits, dots, hyphens; other characters are underscores. It is short, and a number
    /// before it keeps names apart.
    static func fileName(_ text: String) -> String {
        String(
            decoding: text.utf8.prefix(80).map { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"):
                    byte
                default: UInt8(ascii: "_")
                }
            }, as: UTF8.self)
    }

    /// - Parameter outline: Receives where the records will be, before they are written.
    mutating func run(noting outline: inout ExportOutline) async throws -> ExportedContainer {
        try folder.makeFolder(path)
        try folder.makeFolder(path + "/private")
        let user = try await connection.requests(.private).currentUser().recordName
        var shares = try LineFile(path + "/shares.jsonl", in: folder)
        var zones: [ExportedZone] = []
        let all = try await connection.requests(.private).allZones().sorted {
            ($0.id.isDefaultZone ? 0 : 1, $0.id.zoneName) < ($1.id.isDefaultZone ? 0 : 1, $1.id.zoneName)
        }
        let names = all.enumerated().map { index, zone in
            path + "/private/\(index + 1)-\(Self.fileName(zone.id.zoneName)).jsonl"
        }
        let publicName = path + "/public.jsonl"
        outline.containers.append(
            ExportOutline.Container(
                container: place.container, environment: place.environment,
                zones: Dictionary(zip(all.map(\.id.zoneName), names)) { $1 }, publicRecords: publicName))
        try folder.write(outline)
        for (name, zone) in zip(names, all) {
            let file = try await export(zone.id, in: .private, to: name, shares: &shares)
            zones.append(
                ExportedZone(name: zone.id.zoneName, hasKeyPerZone: zone.encryptionScope == .perZone, file: file))
        }
        let publicRecords = try await export(.default, in: .public, to: publicName, shares: &shares)
        let joined = try await exportJoined()
        var text = try LineFile(path + "/schema.ckdb", in: folder)
        try text.add(text: Array(schema.text.utf8))
        return ExportedContainer(
            container: place.container, environment: place.environment, userRecordName: user, folder: path,
            zones: zones, publicRecords: publicRecords, shares: try shares.finish(), sharedWithMe: joined,
            schema: try text.finish())
    }

    /// Exports the records of a zone, and its shares.
    private mutating func export(
        _ zone: ZoneID, in scope: DatabaseScope, to name: String, shares: inout LineFile
    ) async throws -> ExportedFile {
        var file = try LineFile(name, in: folder)
        var marker: String?
        var held = earlier?.records(of: zone, in: scope, of: place)
        repeat {
            let requests = connection.requests(scope)
            let page = try await requests.list(ListRecordsRequest(zoneID: zone, continuationMarker: marker))
            for record in page.records where record.sharing != nil {
                if let share = ExportedShare(record, isOwn: true) { try shares.add(try Self.line(of: share)) }
            }
            let records = page.records.filter { $0.recordType != Validity.shareRecordType }
            var taken: [ExportedRecord?] = []
            for record in records { taken.append(try held?.unchanged(record).flatMap { try take($0) }) }
            let opened = await requests.opened(zip(records, taken).filter { $1 == nil }.map(\.0))
            var fetched = zip(opened, try await requests.withFiles(opened)).makeIterator()
            for each in taken {
                // As many were fetched as were not taken.
                guard let exported = try each ?? fetched.next().map({ try self.record($0, $1) }) else { break }
                schema.add(exported)
                try file.add(exported.line, isProblem: exported.problem != nil)
            }
            for (name, failure) in page.failures.sorted(by: { $0.key < $1.key }) {
                try file.add(ExportedRecord(unreadable: name, failure).line, isProblem: true)
            }
            marker = page.continuationMarker
        } while marker != nil
        return try file.finish()
    }

    /// Lists the shares of others that the person has joined. Their records belong to others and are not part of the export.
    private func exportJoined() async throws -> ExportedFile {
        var file = try LineFile(path + "/shared-with-me.jsonl", in: folder)
        for zone in try await connection.requests(.shared).allZones() {
            var token: String?
            var moreComing = true
            while moreComing {
                let page = try await connection.requests(.shared).zoneChanges(
                    ZoneChangesRequest(
                        zoneID: zone.id, syncToken: token, desiredRecordTypes: [Validity.shareRecordType]))
                for case .changed(let item) in page.events {
                    guard case .success(let opened) = item.result,
                        let share = ExportedShare(opened.record, isOwn: false)
                    else { continue }
                    try file.add(try Self.line(of: share))
                }
                token = page.syncToken
                moreComing = page.moreComing
            }
        }
        return try file.finish()
    }

    private static func line(of share: ExportedShare) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(share))
    }

    // MARK: Records

    /// Takes a record with its files from the earlier export.
    ///
    /// - Returns: nil: a file is missing there, or damaged.
    private mutating func take(_ record: ExportedRecord) throws -> ExportedRecord? {
        guard let earlier else { return nil }
        for asset in record.assets {
            guard let isNew = try folder.take(asset, from: earlier.path) else { return nil }
            if isNew {
                assetCount += 1
                assetBytes += asset.size
            }
        }
        takenCount += 1
        return record
    }

    /// - Parameter fetched: The same record with its files.
    private mutating func record(_ opened: OpenedRecord, _ fetched: FetchedItem) throws -> ExportedRecord {
        var exported = ExportedRecord(opened.record)
        var sealed: [String: Field] = [:]
        switch opened.values {
        case .success(let values): for value in values { sealed[value.name] = value }
        case .failure(let failure): exported.problem = failure.sentence
        }
        var files: [AssetSlot: StagedFile] = [:]
        switch fetched.result {
        case .success(let record): files = record.files
        case .failure(let failure): exported.problem = exported.problem ?? failure.sentence
        }
        for field in opened.record.fields {
            if field.type.base == .asset, !field.type.isEncrypted {
                if let content = try assets(of: field, files) {
                    exported.fields.append(ExportedField(name: field.name, type: field.type, content: content))
                }
            } else if field.type.isEncrypted {
                guard let value = sealed[field.name] else { continue }
                var type = value.type
                type.isEncrypted = true
                exported.fields.append(ExportedField(name: field.name, type: type, content: .json(value.json)))
            } else {
                exported.fields.append(
                    ExportedField(name: field.name, type: field.type, content: .json(field.json)))
            }
        }
        return exported
    }

    /// Returns the files of a field of assets; nil where one of them was not fetched.
    private mutating func assets(
        of field: Field, _ files: [AssetSlot: StagedFile]
    ) throws -> ExportedField.Content? {
        let count = field.type.isList ? try field.assets().count : 1
        var exported: [ExportedAsset] = []
        for position in 0..<count {
            let slot = AssetSlot(field: field.name, position: field.type.isList ? position : nil)
            guard let file = files[slot] else { return nil }
            let (asset, isNew) = try folder.add(file.path)
            if isNew {
                assetCount += 1
                assetBytes += asset.size
            }
            exported.append(asset)
        }
        return .files(exported)
    }
}

extension ExportedRecord {
    /// Creates the record without its fields.
    fileprivate init(_ record: Record) {
        self.init(
            recordName: record.id.recordName, recordType: record.recordType, changeTag: record.changeTag.value,
            created: record.created, modified: record.modified, parent: record.parent, share: record.share, fields: [])
    }

    /// Creates the line of a record that the cloud cannot read any more.
    fileprivate init(unreadable name: String, _ failure: RequestFailure) {
        let unknown = Stamp(timestamp: 0, user: UserID(""))
        self.init(
            recordName: name, recordType: "Unknown", changeTag: "", created: unknown, modified: unknown, fields: [],
            problem: failure.reason)
    }
}
