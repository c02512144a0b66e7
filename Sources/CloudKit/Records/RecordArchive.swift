import CloudKitClient
import CloudKitModel
import CoreLocation
import Foundation

/// The archive of a record: one block, read without trust.
enum RecordArchive {
    static func encode(_ state: RecordState, into coder: NSCoder) {
        Archive.encode(Content(state), into: coder)
    }

    static func state(in coder: NSCoder) -> RecordState? {
        Archive.decode(Content.self, from: coder)?.state
    }

    private struct Content: Codable {
        var version = 1
        var system: System
        var ancestor: System?
        var fields: Fields
        var encrypted: Fields
        var parentChanged: Bool

        init(_ state: RecordState) {
            system = System(state.system)
            ancestor = state.ancestorSystem == state.system ? nil : System(state.ancestorSystem)
            fields = Fields(state.fields)
            encrypted = Fields(state.encrypted)
            parentChanged = state.parentChanged
        }

        var state: RecordState? {
            guard let system = system.fields else { return nil }
            return RecordState(
                system, ancestorSystem: ancestor?.fields, fields: fields.fields,
                encrypted: encrypted.fields, parentChanged: parentChanged)
        }
    }

    private struct System: Codable {
        var recordType: String
        var recordID: CKRecordID.Content
        var changeTag: String?
        /// Seconds since 2001, as `Date` counts.
        var created: Double?
        var creator: CKRecordID.Content?
        var modified: Double?
        var modifier: CKRecordID.Content?
        var parent: CKReference.Content?
        var share: CKReference.Content?
        var keyEpoch: UInt32?
        var keys: Data?
        var statement: Data?

        init(_ system: RecordSystemFields) {
            recordType = system.recordType
            recordID = system.recordID.content
            changeTag = system.changeTag
            created = system.creationDate?.timeIntervalSinceReferenceDate
            creator = system.creator?.content
            modified = system.modificationDate?.timeIntervalSinceReferenceDate
            modifier = system.modifier?.content
            parent = system.parent?.content
            share = system.share?.content
            keyEpoch = system.protection?.epoch
            keys = system.protection.map { Data($0.keys) }
            statement = system.protection.flatMap { $0.statement.isEmpty ? nil : Data($0.statement) }
        }

        var fields: RecordSystemFields? {
            guard !recordType.isEmpty, let id = CKRecordID(recordID) else { return nil }
            var system = RecordSystemFields(recordType: recordType, recordID: id)
            system.changeTag = changeTag
            system.creationDate = created.map(Date.init(timeIntervalSinceReferenceDate:))
            system.creator = creator.flatMap { CKRecordID($0) }
            system.modificationDate = modified.map(Date.init(timeIntervalSinceReferenceDate:))
            system.modifier = modifier.flatMap { CKRecordID($0) }
            system.parent = parent.flatMap { CKReference($0) }
            system.share = share.flatMap { CKReference($0) }
            system.protection = keyEpoch.map {
                Protection(
                    epoch: $0, keys: keys.map(Array.init) ?? [], statement: statement.map(Array.init) ?? [])
            }
            return system
        }
    }

    private struct Fields: Codable {
        var values: [String: ArchivedValue]
        /// The values of changed keys before the change; unchanged keys still hold theirs.
        var original: [String: ArchivedValue]
        var changed: [String]

        init(_ fields: RecordFields) {
            values = fields.values.compactMapValues { ArchivedValue($0) }
            original = fields.original.filter { $0.value !== fields.values[$0.key] }.compactMapValues {
                ArchivedValue($0)
            }
            changed = fields.changedKeys.sorted()
        }

        var fields: RecordFields {
            let values = values.compactMapValues(\.object)
            let changed = Set(self.changed.filter { !$0.isEmpty })
            let before = values.filter { !changed.contains($0.key) }
            return RecordFields(
                values: values, original: before.merging(original.compactMapValues(\.object)) { $1 },
                changedKeys: changed)
        }
    }
}

/// A field's value in an archive.
private indirect enum ArchivedValue: Codable {
    case string(String)
    case int(Int64)
    case unsigned(UInt64)
    case double(Double)
    case bool(Bool)
    case date(Double)
    case data(Data)
    case location([Double])
    case reference(CKReference.Content)
    case asset(path: String?, stored: CKAsset.StoredAsset?)
    case list([ArchivedValue])

    init?(_ value: Any) {
        switch value {
        case let location as CLLocation: self = .location(location.numbers)
        case let reference as CKReference: self = .reference(reference.content)
        case let asset as CKAsset: self = .asset(path: asset.content.path, stored: asset.content.stored)
        case let text as NSString: self = .string(text as String)
        case let number as NSNumber: self = Self.number(number)
        case let date as NSDate: self = .date(date.timeIntervalSinceReferenceDate)
        case let data as NSData: self = .data(data as Data)
        case let list as NSArray: self = .list(list.compactMap { ArchivedValue($0) })
        default: return nil
        }
    }

    private static func number(_ number: NSNumber) -> ArchivedValue {
        switch NumberKind(number) {
        case .bool: .bool(number.boolValue)
        case .double: .double(number.doubleValue)
        case .integer: .int(number.int64Value)
        case .unsigned: .unsigned(number.uint64Value)
        }
    }

    var object: (any StoredValue)? {
        switch self {
        case .string(let text): return text as NSString
        case .int(let number): return NSNumber(value: number)
        case .unsigned(let number): return NSNumber(value: number)
        case .double(let number): return NSNumber(value: number)
        case .bool(let flag): return NSNumber(value: flag)
        case .date(let seconds): return NSDate(timeIntervalSinceReferenceDate: seconds)
        case .data(let bytes): return bytes as NSData
        case .location(let numbers): return CLLocation(numbers: numbers)
        case .reference(let content): return CKReference(content)
        case .asset(let path, let stored): return CKAsset(CKAsset.Content(path: path, stored: stored))
        case .list(let values): return values.compactMap { $0.object as Any? } as NSArray
        }
    }
}
