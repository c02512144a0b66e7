import Foundation

/// Key-value coding, which Foundation lacks here: fields by name, and the record's own attributes where no field has
/// that name.
extension CKRecord {
    /// Returns the value of a field, or of a property of the record by its name.
    public func value(forKey key: String) -> Any? {
        fields.values[key] ?? attribute(key)
    }

    /// Sets the value of a field.
    ///
    /// - Parameters:
    ///   - value: The new value; nil or `NSNull` removes the field.
    ///   - key: The name of the field.
    public func setValue(_ value: Any?, forKey key: String) {
        let value = withoutOptional(value)
        content.revise { $0.fields.set(value is NSNull ? nil : value, forKey: key) }
    }

    /// Follows the attributes that are objects: `recordID.recordName`, `recordID.zoneID.zoneName`, `parent.recordID`…
    public func value(forKeyPath keyPath: String) -> Any? {
        let keys = keyPath.split(separator: ".").map(String.init)
        guard let first = keys.first else { return nil }
        return keys.dropFirst().reduce(value(forKey: first)) { holder, key in
            Self.attribute(key, of: holder)
        }
    }

    /// A field whose name holds dots is meant whole: records have no nested fields.
    public func setValue(_ value: Any?, forKeyPath keyPath: String) {
        setValue(value, forKey: keyPath)
    }

    /// The values of several keys; `NSNull` where there is none.
    public func dictionaryWithValues(forKeys keys: [String]) -> [String: Any] {
        Dictionary(keys.map { ($0, value(forKey: $0) ?? NSNull()) }, uniquingKeysWith: { first, _ in first })
    }

    /// Sets several fields at once.
    public func setValuesForKeys(_ keyedValues: [String: Any]) {
        for (key, value) in keyedValues {
            setValue(value, forKey: key)
        }
    }

    private func attribute(_ key: String) -> Any? {
        switch key {
        case "recordID", "___recordID": recordID
        case "recordName": recordID.recordName
        case "recordType": recordType
        case "recordChangeTag": recordChangeTag
        case "creationDate", "___createTime": creationDate
        case "creatorUserRecordID", "___createdBy": creatorUserRecordID
        case "modificationDate", "___modTime": modificationDate
        case "lastModifiedUserRecordID", "___modifiedBy": lastModifiedUserRecordID
        case "parent", "___parent": parent
        case "share", "___share": share
        default: nil
        }
    }

    private static func attribute(_ key: String, of holder: Any?) -> Any? {
        switch (holder, key) {
        case (let record as CKRecord, _): record.value(forKey: key)
        case (let id as CKRecordID, "recordName"): id.recordName
        case (let id as CKRecordID, "zoneID"): id.zoneID
        case (let id as CKRecordZoneID, "zoneName"): id.zoneName
        case (let id as CKRecordZoneID, "ownerName"): id.ownerName
        case (let reference as CKReference, "recordID"): reference.recordID
        case (let list as [Any], "@count"): list.count
        default: nil
        }
    }
}
