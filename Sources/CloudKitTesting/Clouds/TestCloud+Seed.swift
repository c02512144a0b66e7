import CloudKit
import CoreLocation
import Foundation

extension TestCloud {
    /// A database of a container.
    public enum Database: Sendable {
        case `public`, `private`
    }

    /// Saves the records of a JSON file, or of all JSON files of a folder, as a user does.
    ///
    /// A file holds a list of records: `[{"recordType": "Note", "recordName": "n1", "zone": "Notes", "fields": {"title": "x"}}]`. A field is
    /// a string, a number, a Boolean value, a list of them, or an object with `type` and `value` as `cktool create-record` takes it:
    /// `{"type": "timestampType", "value": "2024-05-01T10:00:00Z"}`. The value of an `assetType` is the path of a file beside the JSON
    /// file, that of a `referenceType` a record name in the same zone. Missing zones are created.
    ///
    /// - Parameters:
    ///   - path: The file or folder.
    ///   - user: The user whose records they become.
    ///   - container: The container.
    ///   - database: The database.
    ///   - environment: The environment.
    /// - Returns: The saved records, in the order of the files.
    /// - Throws: `TestCloudError` for a file that cannot be read, else the error of the save.
    @discardableResult
    public func seed(
        _ path: String, as user: TestUser, in container: String, _ database: Database = .private,
        _ environment: Environment = .development
    ) async throws -> [CKRecord] {
        let device = try await user.device("seed").container(container, environment)
        let target = database == .public ? device.publicCloudDatabase : device.privateCloudDatabase
        var saved: [CKRecord] = []
        var files = try SeedFile.files(at: path)[...]
        // The next file is read while the records of one are saved.
        var reading = files.popFirst().map { file in Task { try SeedFile.read(file) } }
        defer { reading?.cancel() }
        while let content = try await reading?.value {
            reading = files.popFirst().map { file in Task { try SeedFile.read(file) } }
            var byZone: [(zone: CKRecordZone.ID, records: [CKRecord])] = []
            for record in content.records {
                let zone = record.recordID.zoneID
                if let index = byZone.firstIndex(where: { $0.zone == zone }) {
                    byZone[index].records.append(record)
                } else {
                    byZone.append((zone, [record]))
                }
            }
            for (zone, records) in byZone {
                if zone != CKRecordZone.default().zoneID { _ = try await target.save(CKRecordZone(zoneID: zone)) }
                saved += try await save(SeedFile.batches(of: records, bytes: content.bytes), in: target)
            }
        }
        return saved
    }

    /// Saves batches of records, a few at a time, and returns the saved records in their order.
    private func save(_ batches: [ArraySlice<CKRecord>], in database: CKDatabase) async throws -> [CKRecord] {
        try await withThrowingTaskGroup(of: (index: Int, records: [CKRecord]).self) { group in
            var saved: [[CKRecord]] = Array(repeating: [], count: batches.count)
            for (index, batch) in batches.enumerated() {
                if index >= SeedFile.requestsAtOnce, let done = try await group.next() {
                    saved[done.index] = done.records
                }
                group.addTask { (index, try await self.save(batch, in: database)) }
            }
            while let done = try await group.next() { saved[done.index] = done.records }
            return saved.flatMap { $0 }
        }
    }

    /// Saves records in one request, or in halves where that is too large.
    private func save(_ records: ArraySlice<CKRecord>, in database: CKDatabase) async throws -> [CKRecord] {
        do {
            let results = try await database.modifyRecords(saving: Array(records), deleting: []).saveResults
            return try records.compactMap { try results[$0.recordID]?.get() }
        } catch let error as CKError where error.code == .limitExceeded && records.count > 1 {
            let middle = records.startIndex + records.count / 2
            return try await save(records[..<middle], in: database) + save(records[middle...], in: database)
        }
    }
}

/// Reads files of records.
private enum SeedFile {
    private struct Item: Decodable {
        var recordType: String
        var recordName: String?
        var zone: String?
        var fields: [String: SeedValue]?
    }

    /// Returns the file, or the JSON files of a folder in the order of their names.
    static func files(at path: String) throws -> [URL] {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
            throw TestCloudError("there is no file \(path) in \(FileManager.default.currentDirectoryPath)")
        }
        let url = URL(fileURLWithPath: path)
        guard isFolder.boolValue else { return [url] }
        return try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasSuffix(".json") }.sorted()
            .map { url.appending(path: $0) }
    }

    /// Returns the records of a file, and its size.
    static func read(_ file: URL) throws -> (records: [CKRecord], bytes: Int) {
        do {
            let data = try Data(contentsOf: file)
            let items = try JSONDecoder().decode([Item].self, from: data)
            return (try items.map { try record(of: $0, beside: file) }, data.count)
        } catch let error as TestCloudError {
            throw error
        } catch {
            throw TestCloudError("the file \(file.path) holds no list of records: \(error)")
        }
    }

    /// Divides records into requests: as many as one may have, and about half of the bytes that one may have.
    ///
    /// - Parameter bytes: The size of the file that they are from.
    static func batches(of records: [CKRecord], bytes: Int) -> [ArraySlice<CKRecord>] {
        let size = min(max(requestBytes / max(bytes / max(records.count, 1), 1), 1), requestRecordsMax)
        return stride(from: 0, to: records.count, by: size).map { records[$0..<min($0 + size, records.count)] }
    }

    /// The device makes requests while the cloud works at others.
    static let requestsAtOnce = 3
    private static let requestRecordsMax = 400
    private static let requestBytes = 1_000_000

    private static func record(of item: Item, beside file: URL) throws -> CKRecord {
        let zone = item.zone.map { CKRecordZone.ID(zoneName: $0) } ?? CKRecordZone.default().zoneID
        let id = CKRecord.ID(recordName: item.recordName ?? UUID().uuidString, zoneID: zone)
        let record = CKRecord(recordType: item.recordType, recordID: id)
        for (name, value) in item.fields ?? [:] { record[name] = try value.recordValue(in: zone, beside: file) }
        return record
    }
}

/// A value of a field in a file of records.
private enum SeedValue: Decodable {
    case number(Int64)
    case fraction(Double)
    case text(String)
    case list([SeedValue])
    case place(latitude: Double, longitude: Double)
    indirect case typed(String, SeedValue)

    private enum Key: String, CodingKey {
        case type, value, latitude, longitude
    }

    init(from decoder: any Decoder) throws {
        // The most frequent ones first: each attempt that fails makes an error.
        let value = try decoder.singleValueContainer()
        if let text = try? value.decode(String.self) {
            self = .text(text)
        } else if let number = try? value.decode(Int64.self) {
            self = .number(number)
        } else if let number = try? value.decode(Double.self) {
            self = .fraction(number)
        } else if let flag = try? value.decode(Bool.self) {
            self = .number(flag ? 1 : 0)
        } else if let object = try? decoder.container(keyedBy: Key.self) {
            if object.contains(.type) {
                self = .typed(
                    try object.decode(String.self, forKey: .type), try object.decode(SeedValue.self, forKey: .value))
            } else {
                self = .place(
                    latitude: try object.decode(Double.self, forKey: .latitude),
                    longitude: try object.decode(Double.self, forKey: .longitude))
            }
        } else {
            self = .list(try value.decode([SeedValue].self))
        }
    }

    /// Returns the value as a record holds it.
    func recordValue(in zone: CKRecordZone.ID, beside file: URL) throws -> any CKRecordValueProtocol {
        switch self {
        case .number(let number): return number
        case .fraction(let number): return number
        case .text(let text): return text
        case .place(let latitude, let longitude): return CLLocation(latitude: latitude, longitude: longitude)
        case .list(let values):
            let held = try values.map { try $0.recordValue(in: zone, beside: file) }
            if let texts = held as? [String] { return texts }
            if let numbers = held as? [Int64] { return numbers }
            if let numbers = held.map({ ($0 as? Double) ?? ($0 as? Int64).map(Double.init) }) as? [Double] {
                return numbers
            }
            if let dates = held as? [Date] { return dates }
            if let places = held as? [CLLocation] { return places }
            if let references = held as? [CKRecord.Reference] { return references }
            throw TestCloudError("the file \(file.path) holds a list of values of several types")
        case .typed(let type, .list(let values)):
            let single = type.replacingOccurrences(of: "ListType", with: "Type")
            return try SeedValue.list(values.map { .typed(single, $0) }).recordValue(in: zone, beside: file)
        case .typed(let type, let value): return try Self.value(value, as: type, zone, file)
        }
    }

    private static func value(
        _ value: SeedValue, as type: String, _ zone: CKRecordZone.ID, _ file: URL
    ) throws -> any CKRecordValueProtocol {
        switch (type, value) {
        case ("stringType", .text(let text)): return text
        case ("int64Type", .number(let number)): return number
        case ("doubleType", .number(let number)): return Double(number)
        case ("doubleType", .fraction(let number)): return number
        case ("locationType", .place(let latitude, let longitude)):
            return CLLocation(latitude: latitude, longitude: longitude)
        case ("timestampType", .text(let text)):
            if let date = try? Date(text, strategy: .iso8601) { return date }
        case ("bytesType", .text(let text)):
            if let data = Data(base64Encoded: text) { return data }
        case ("referenceType", .text(let name)):
            return CKRecord.Reference(recordID: CKRecord.ID(recordName: name, zoneID: zone), action: .none)
        case ("assetType", .text(let path)):
            return CKAsset(fileURL: file.deletingLastPathComponent().appending(path: path))
        default: break
        }
        throw TestCloudError("the file \(file.path) holds a value that is no \(type)")
    }
}
