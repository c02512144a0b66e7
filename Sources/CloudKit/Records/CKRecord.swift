import CloudKitModel
import Foundation

/// A record: named fields and the server's metadata (B-REC). Compared by identity (B-ZN-17).
///
/// Records can be passed between threads, and every access is safe. Code that changes a record in several steps while
/// another thread does the same has to synchronize the steps.
// Unchecked because the class can be subclassed: its content is behind the lock of `RecordContent`.
open class CKRecord: NSObject, CKRecordKeyValueSetting, NSCopying, NSSecureCoding, Sequence, @unchecked Sendable {
    /// The identifier of a record.
    public typealias ID = CKRecordID
    /// The name of a record type.
    public typealias RecordType = String
    /// The name of a field.
    public typealias FieldKey = String

    /// Types that every container knows.
    public enum SystemType {
        /// The type of user records, `Users`.
        public static let userRecord: RecordType = "Users"
        /// The type of shares, `cloudkit.share`.
        public static let share: RecordType = "cloudkit.share"
    }

    /// The names of a record's own attributes in queries (B-QRY-13).
    public enum SystemFieldKey {
        /// The name of the parent in queries.
        public static let parent: FieldKey = "___parent"
        /// The name of the share in queries.
        public static let share: FieldKey = "___share"
        /// The name of the record identifier in queries.
        public static var recordID: FieldKey { "___recordID" }
        /// The name of the creator in queries.
        public static var creatorUserRecordID: FieldKey { "___createdBy" }
        /// The name of the creation date in queries.
        public static var creationDate: FieldKey { "___createTime" }
        /// The name of the last user who modified the record, in queries.
        public static var lastModifiedUserRecordID: FieldKey { "___modifiedBy" }
        /// The name of the modification date in queries.
        public static var modificationDate: FieldKey { "___modTime" }
    }

    let content: RecordContent
    let encrypted: EncryptedValues

    /// A record that the server does not know yet.
    ///
    /// - Parameters:
    ///   - recordType: A letter, then letters, digits and `_` (B-LIM-13).
    ///   - recordID: A random name in the default zone by default (B-REC-09).
    public init(recordType: CKRecord.RecordType, recordID: CKRecord.ID = CKRecord.ID()) {
        // Apple's framework raises NSInvalidArgumentException here; Swift on Linux cannot raise.
        precondition(!recordType.isEmpty, "recordType can't be an empty string")
        content = RecordContent(RecordState(RecordSystemFields(recordType: recordType, recordID: recordID)))
        encrypted = EncryptedValues(content)
        super.init()
    }

    /// Creates a record with a unique name in a zone.
    @available(*, deprecated, message: "Use init(recordType:recordID:) with a record ID of the zone")
    public convenience init(recordType: CKRecord.RecordType, zoneID: CKRecordZoneID) {
        self.init(recordType: recordType, recordID: CKRecord.ID(zoneID: zoneID))
    }

    init(state: RecordState) {
        content = RecordContent(state)
        encrypted = EncryptedValues(content)
        super.init()
    }

    /// Everything the record holds, as a value.
    var state: RecordState { content.state }
    var system: RecordSystemFields { content.system }
    var fields: RecordFields { content.fields }

    // MARK: What the server notes (B-REC-05)

    /// The name of the record's type.
    open var recordType: CKRecord.RecordType { system.recordType }

    /// The identifier of the record.
    open var recordID: CKRecord.ID { system.recordID }

    /// The version of the record on the server; opaque (B-REC-06). nil: never saved.
    open var recordChangeTag: String? { system.changeTag }

    /// `CKCurrentUserDefaultName` when it is the caller (B-USR-04).
    open var creatorUserRecordID: CKRecord.ID? { system.creator }

    /// The time when the server first saved the record; nil: never saved.
    open var creationDate: Date? { system.creationDate }

    /// The user who last modified the record; nil: never saved.
    open var lastModifiedUserRecordID: CKRecord.ID? { system.modifier }

    /// The time when the server last saved the record; nil: never saved.
    open var modificationDate: Date? { system.modificationDate }

    /// The share of which this record is the root.
    open var share: CKRecord.Reference? { system.share }

    // MARK: Parent

    /// The record whose sharing includes this one: of the same zone (B-REF-01), with action `none` (B-REF-04).
    open var parent: CKRecord.Reference? {
        get { system.parent }
        set {
            if let newValue {
                // Apple's framework raises NSInvalidArgumentException in these two cases; Swift on Linux cannot raise.
                precondition(newValue.action == .none, "Parent references must have action CKReferenceActionNone")
                precondition(
                    Self.mayBeOneZone(newValue.recordID.zoneID, recordID.zoneID),
                    "A record and its parent must be in the same zone")
            }
            content.revise { state in
                state.system.parent = newValue
                state.parentChanged = true
            }
        }
    }

    /// Sets the parent to a record of the same zone; nil removes it.
    open func setParent(_ parentRecord: CKRecord?) {
        setParent(parentRecord?.recordID)
    }

    /// Sets the parent to the record with an identifier of the same zone; nil removes it.
    open func setParent(_ parentRecordID: CKRecord.ID?) {
        parent = parentRecordID.map { CKRecord.Reference(recordID: $0, action: .none) }
    }

    /// The caller's own zones have two spellings of their owner (B-ZN-03).
    private static func mayBeOneZone(_ left: CKRecordZoneID, _ right: CKRecordZoneID) -> Bool {
        left.zoneName == right.zoneName
            && (left.ownerName == right.ownerName || left.ownerName == CKCurrentUserDefaultName
                || right.ownerName == CKCurrentUserDefaultName)
    }

    // MARK: Fields

    /// The value of a field; nil removes it, and the removal is sent on save (B-REC-02).
    open subscript(key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)? {
        get { fields.values[key] }
        set { content.revise { $0.fields.set(newValue, forKey: key) } }
    }

    /// Returns the value of a field; nil: the record has none.
    open func object(forKey key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)? {
        fields.values[key]
    }

    /// Sets the value of a field; nil removes it, and the removal is sent on save (B-REC-02).
    open func setObject(_ object: (any CKRecordValueProtocol)?, forKey key: CKRecord.FieldKey) {
        content.revise { $0.fields.set(object, forKey: key) }
    }

    /// The names of the fields that hold something.
    open func allKeys() -> [CKRecord.FieldKey] {
        fields.values.keys.sorted()
    }

    /// The names of the fields set or removed since the last fetch, decoding or save (B-REC-03).
    open func changedKeys() -> [CKRecord.FieldKey] {
        fields.changedKeys.sorted()
    }

    /// Returns the words of the record's strings, lowercased, each once: the words that a full-text search can find.
    open func allTokens() -> [String] {
        var tokens: Set<String> = []
        for text in fields.values.values.compactMap({ $0 as? NSString }) {
            let words = (text as String).lowercased().split { !$0.isLetter && !$0.isNumber }
            tokens.formUnion(words.map(String.init))
        }
        return tokens.sorted()
    }

    /// Fields that the server cannot read: sealed on this device when the record is saved, opened before an app sees a
    /// fetched record (B-ENC-01).
    ///
    /// Every type of value except references and assets, and lists of it; not in the public database (B-ENC-02). A name
    /// belongs either to these fields or to the others, for all records of the type and permanently (B-ENC-03,
    /// B-ENC-05); a value that breaks one of these rules is refused when the record is saved. Reading and setting cost
    /// no more than with other fields.
    open var encryptedValues: any CKRecordKeyValueSetting & Sendable { encrypted }

    /// Returns an iterator over the fields and their values.
    public func makeIterator() -> CKRecordKeyValueIterator {
        CKRecordKeyValueIterator(self)
    }

    // MARK: Copying and showing

    /// Returns a copy of the record, which can be changed independently.
    open func copy(with zone: NSZone? = nil) -> Any {
        CKRecord(state: state)
    }

    /// Names, never values: those do not belong into logs.
    open override var description: String {
        "<\(Self.self): \(addressText(of: self)); recordType=\(recordType), recordID=\(recordID.recordName):"
            + "(\(recordID.zoneID.zoneName):\(recordID.zoneID.ownerName)), recordChangeTag=\(recordChangeTag ?? "(null)"), "
            + "keys=[\(allKeys().joined(separator: ", "))]>"
    }

    /// Returns the record in an earlier state, as a separate object.
    func ancestor(_ state: RecordState) -> CKRecord { CKRecord(state: state) }

    // MARK: Archiving

    /// A Boolean value that indicates whether the class supports secure coding; always true.
    open class var supportsSecureCoding: Bool { true }

    /// Creates the object from an archive; nil when the archive does not describe one.
    public required init?(coder: NSCoder) {
        guard let state = RecordArchive.state(in: coder) ?? ArchivedObject(coder)?.record else { return nil }
        content = RecordContent(state)
        encrypted = EncryptedValues(content)
        super.init()
    }

    /// Archives the record with its fields and what changed in them. Encrypted values are in it in clear: an archive is as
    /// private as the place where the app keeps it.
    open func encode(with coder: NSCoder) {
        RecordArchive.encode(state, into: coder)
    }

    /// Archives the record's metadata and parent, without fields and changes of fields (B-REC-04).
    ///
    /// `CKRecord(coder:)` makes an editable record of it: set the fields to change and save.
    open func encodeSystemFields(with coder: NSCoder) {
        var bare = state
        bare.fields = RecordFields()
        bare.encrypted = RecordFields()
        RecordArchive.encode(bare, into: coder)
    }
}

/// Walks the fields of a record.
public struct CKRecordKeyValueIterator: IteratorProtocol {
    private var rest: ArraySlice<(CKRecord.FieldKey, any CKRecordValueProtocol)>

    init(_ record: CKRecord) {
        let pairs: [(CKRecord.FieldKey, any CKRecordValueProtocol)] = record.allKeys().compactMap { key in
            record[key].map { (key, $0) }
        }
        rest = pairs[...]
    }

    /// Returns the next field and its value; nil at the end.
    public mutating func next() -> (CKRecord.FieldKey, any CKRecordValueProtocol)? {
        rest.popFirst()
    }
}

/// The server's metadata of a record.
struct RecordSystemFields: Equatable {
    var recordType: String
    var recordID: CKRecord.ID
    var changeTag: String?
    var creationDate: Date?
    var creator: CKRecord.ID?
    var modificationDate: Date?
    var modifier: CKRecord.ID?
    var parent: CKReference?
    var share: CKReference?
    /// The protection of the record's encrypted values; nil: the server never had any.
    var protection: Protection?

    init(recordType: String, recordID: CKRecord.ID) {
        self.recordType = recordType
        self.recordID = recordID
    }
}

/// Everything a record holds, as a value: what copies and archives take.
struct RecordState {
    var system: RecordSystemFields
    /// The server's metadata of the record in the state that was last fetched or saved (B-SAV-07).
    var ancestorSystem: RecordSystemFields
    var fields: RecordFields
    var encrypted: RecordFields
    /// A Boolean value that indicates whether the app set or removed the parent since the last fetch, decoding or save.
    var parentChanged: Bool

    /// - Parameter ancestorSystem: nil: the same, nothing was changed since.
    init(
        _ system: RecordSystemFields, ancestorSystem: RecordSystemFields? = nil, fields: RecordFields = RecordFields(),
        encrypted: RecordFields = RecordFields(), parentChanged: Bool = false
    ) {
        self.system = system
        self.ancestorSystem = ancestorSystem ?? system
        self.fields = fields
        self.encrypted = encrypted
        self.parentChanged = parentChanged
    }
}
