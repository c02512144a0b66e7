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
        for file in try SeedFile.files(at: path) {
            var byZone: [(zone: CKRecordZone.ID, records: [CKRecord])] = []
            for record in try SeedFile.records(of: file) {
                let zone = record.recordID.zoneID
                if let index = byZone.firstIndex(where: { $0.zone == zone }) {
                    byZone[index].records.append(record)
                } else {
                    byZone.append((zone, [record]))
                }
            }
            for (zone, records) in byZone {
                if zone != CKRecordZone.default().zoneID { _ = try await target.save(CKRecordZone(zoneID: zone)) }
                let results = try await target.modifyRecords(saving: records, deleting: []).saveResults
                for record in records {
                    if let result = results[record.recordID] { saved.append(try result.get()) }
                }
            }
        }
        return saved
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

    static func records(of file: URL) throws -> [CKRecord] {
        do {
            let items = try JSONDecoder().decode([Item].self, from: try Data(contentsOf: file))
            return try items.map { try record(of: $0, beside: file) }
        } catch let error as TestCloudError {
            throw error
        } catch {
            throw TestCloudError("the file \(file.path) holds no list of records: \(error)")
        }
    }

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
        if let object = try? decoder.container(keyedBy: Key.self) {
            if object.contains(.type) {
                self = .typed(
                    try object.decode(String.self, forKey: .type), try object.decode(SeedValue.self, forKey: .value))
            } else {
                self = .place(
                    latitude: try object.decode(Double.self, forKey: .latitude),
                    longitude: try object.decode(Double.self, forKey: .longitude))
            }
            return
        }
        let value = try decoder.singleValueContainer()
        if let flag = try? value.decode(Bool.self) {
            self = .number(flag ? 1 : 0)
        } else if let number = try? value.decode(Int64.self) {
            self = .number(number)
        } else if let number = try? value.decode(Double.self) {
            self = .fraction(number)
        } else if let text = try? value.decode(String.self) {
            self = .text(text)
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
