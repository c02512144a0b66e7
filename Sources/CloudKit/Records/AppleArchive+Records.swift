import CoreLocation
import Foundation

/// Records in archives of Apple's framework.
extension AppleArchive {
    /// The classes that a value store holds besides strings and numbers.
    private static let valueClasses: [AnyClass] = [
        NSDictionary.self, NSArray.self, NSSet.self, NSString.self, NSNumber.self, NSDate.self, NSData.self,
        CKRecordID.self, CKRecordZoneID.self, CKReference.self, CLLocation.self, ArchivedAppleAsset.self,
    ]

    func values(_ key: String) -> [String: any StoredValue] {
        guard coder.containsValue(forKey: key),
            let dictionary = coder.decodeObject(of: Self.valueClasses, forKey: key) as? NSDictionary
        else { return [:] }
        var values: [String: any StoredValue] = [:]
        for case (let name as NSString, let value) in dictionary where name.length > 0 {
            let value = (value as? ArchivedAppleAsset)?.asset ?? value
            values[name as String] = StoredValues.stored(value)
        }
        return values
    }

    // MARK: Records

    var record: RecordState? {
        guard let type = string("RecordType"), !type.isEmpty, let id = object(CKRecordID.self, "RecordID") else {
            return nil
        }
        var system = RecordSystemFields(recordType: type, recordID: id)
        system.changeTag = string("ETag")
        system.creationDate = object(NSDate.self, "RecordCtime") as Date?
        system.modificationDate = object(NSDate.self, "RecordMtime") as Date?
        system.creator = object(CKRecordID.self, "CreatorUserRecordID")
        system.modifier = object(CKRecordID.self, "LastModifiedUserRecordID")
        system.parent = object(CKReference.self, "ParentReference")
        system.share = object(CKReference.self, "ShareReference")
        return RecordState(system, fields: fields("ValueStore"), encrypted: fields("EncryptedValueStore"))
    }

    private func fields(_ key: String) -> RecordFields {
        object(ArchivedAppleFields.self, key)?.fields ?? RecordFields()
    }

    // MARK: Classes

    /// The names in such archives carry no module.
    ///
    /// They have to be known before the app's first line, which may read an archive: the app's start runs this.
    fileprivate static func registerClasses() {
        let classes: [(AnyClass, String)] = [
            (CKRecord.self, "CKRecord"), (CKRecordID.self, "CKRecordID"), (CKRecordZoneID.self, "CKRecordZoneID"),
            (CKReference.self, "CKReference"), (CKServerChangeToken.self, "CKServerChangeToken"),
            (ArchivedAppleFields.self, "CKRecordValueStore"), (ArchivedAppleAsset.self, "CKAsset"),
            (CLLocation.self, "CLLocation"),
        ]
        for entry in classes {
            NSKeyedUnarchiver.setClass(entry.0, forClassName: entry.1)
        }
    }
}

#if os(Linux)
    /// Called by the loader: no other code of a library runs without being called.
    @section(".init_array") @used
    private let registersClassesOfAppleArchives: @convention(c) () -> Void = { AppleArchive.registerClasses() }
#endif

/// The fields of a record in an archive of Apple's framework.
final class ArchivedAppleFields: NSObject, NSSecureCoding {
    static var supportsSecureCoding: Bool { true }

    let fields: RecordFields

    init?(coder: NSCoder) {
        let archive = AppleArchive(coder)
        let values = archive.values("RecordValues")
        let changed = archive.names("ChangedKeys")
        let unchanged = values.filter { !changed.contains($0.key) }
        fields = RecordFields(
            values: values, original: unchanged.merging(archive.values("OriginalValues")) { $1 }, changedKeys: changed)
        super.init()
    }

    /// Only read, never written.
    func encode(with coder: NSCoder) {}
}

/// An asset in an archive of Apple's framework.
final class ArchivedAppleAsset: NSObject, NSSecureCoding {
    static var supportsSecureCoding: Bool { true }

    let asset: CKAsset?

    init?(coder: NSCoder) {
        let url = AppleArchive(coder).object(NSURL.self, "AssetFileURL")
        asset = url.map { CKAsset(fileURL: $0 as URL) }
        super.init()
    }

    /// Only read, never written.
    func encode(with coder: NSCoder) {}
}
