import CoreLocation
import Foundation

extension CKReference.Content {
    /// A reference in an archive of Apple's framework; nil for any other object.
    init?(apple archived: ArchivedObject) {
        guard let id = archived.object("RecordID").flatMap({ CKRecordID.Content(apple: $0) }) else { return nil }
        self.init(recordID: id, action: archived.number("ReferenceAction")?.uintValue ?? 0)
    }
}

extension ArchivedObject {
    /// The record that Apple's framework archived as this object; nil for any other object.
    var record: RecordState? {
        guard let type = string("RecordType"), !type.isEmpty, let id = recordID("RecordID") else { return nil }
        var system = RecordSystemFields(recordType: type, recordID: id)
        system.changeTag = string("ETag")
        system.creationDate = date("RecordCtime")
        system.modificationDate = date("RecordMtime")
        system.creator = recordID("CreatorUserRecordID")
        system.modifier = recordID("LastModifiedUserRecordID")
        system.parent = reference("ParentReference")
        system.share = reference("ShareReference")
        return RecordState(
            system, fields: object("ValueStore")?.fields ?? RecordFields(),
            encrypted: object("EncryptedValueStore")?.fields ?? RecordFields())
    }

    /// The reference under a key.
    func reference(_ key: String) -> CKReference? {
        object(key).flatMap { CKReference.Content(apple: $0) }.flatMap { CKReference($0) }
    }

    /// The fields of a value store; null stands for a field that was not set.
    private var fields: RecordFields {
        let values = values("RecordValues")
        let changed = Set(strings("ChangedKeys").filter { !$0.isEmpty })
        let unchanged = values.filter { !changed.contains($0.key) }
        return RecordFields(
            values: values, original: unchanged.merging(self.values("OriginalValues")) { $1 }, changedKeys: changed)
    }

    private func values(_ key: String) -> [String: any StoredValue] {
        dictionary(key).filter { !$0.key.isEmpty }.compactMapValues(\.value)
    }

    /// The value as a list of a field; what no field can hold is left out.
    private var list: NSArray {
        let values = elements.compactMap { item -> Any? in
            if case .object(let object) = item, object.isList { nil } else { item.value }
        }
        return values as NSArray
    }

    fileprivate var isList: Bool { className == "NSArray" || className == "NSMutableArray" }

    /// The value of a field that is an object of its own.
    fileprivate var value: (any StoredValue)? {
        switch className {
        case "CKReference": CKReference.Content(apple: self).flatMap { CKReference($0) }
        case "CKAsset": CKAsset.Content(apple: self).flatMap { CKAsset($0) }
        case "CLLocation": CLLocation(archivedNumber: { self.number($0)?.doubleValue })
        case _ where isList: list
        default: nil
        }
    }
}

extension ArchivedObject.Item {
    /// The value as a field keeps it; nil: no field can hold it.
    fileprivate var value: (any StoredValue)? {
        switch self {
        case .number(let number): number
        case .string(let text): text as NSString
        case .data(let bytes): bytes as NSData
        case .date(let date): date as NSDate
        case .object(let object): object.value
        }
    }
}
