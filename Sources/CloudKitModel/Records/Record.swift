/// The time, user and device of a record's creation or last modification.
package struct Stamp: Hashable, Sendable {
    /// Milliseconds since 1970.
    package var timestamp: Int64
    /// The user.
    package var user: UserID
    /// The device; nil if unknown.
    package var deviceID: String?

    /// Creates a value with the given properties.
    package init(timestamp: Int64, user: UserID, deviceID: String? = nil) {
        self.timestamp = timestamp
        self.user = user
        self.deviceID = deviceID
    }
}

/// A record as the server holds it and as an answer carries it.
///
/// One reference, which copies share: copies of a dozen texts each were more than half of the references counted for a page of changes.
package struct Record: Sendable {
    /// What a record consists of.
    package struct Properties: Hashable, Sendable {
        /// The id of the record.
        package fileprivate(set) var id: RecordID
        /// The record type.
        package fileprivate(set) var recordType: String
        /// The fields, packed where they come from the store as they are.
        package fileprivate(set) var fields: PackableFields
        /// The change tag.
        package fileprivate(set) var changeTag: ChangeTag
        /// The creation.
        package fileprivate(set) var created: Stamp
        /// The last modification.
        package fileprivate(set) var modified: Stamp
        /// The record name of the parent.
        package fileprivate(set) var parent: String?
        /// The record name of the share whose root this record is.
        package fileprivate(set) var share: String?
        /// The short GUID of the record's share link.
        package fileprivate(set) var shortGUID: String?
        /// The keys of its sealed values.
        package fileprivate(set) var protection: Protection?
        /// The properties of the share.
        package fileprivate(set) var sharing: Share?
    }

    private final class Storage: Sendable {
        let properties: Properties

        init(_ properties: Properties) { self.properties = properties }
    }

    private var storage: Storage

    private var properties: Properties {
        get { storage.properties }
        _modify {
            var changed = storage.properties
            defer { storage = Storage(changed) }
            yield &changed
        }
    }

    /// Calls a body with all properties in place; each property of a record by itself is a copy.
    package func withProperties(_ body: (Properties) -> Void) { body(storage.properties) }

    /// Creates a value with the given properties.
    package init(
        id: RecordID, recordType: String, fields: [Field], changeTag: ChangeTag, created: Stamp, modified: Stamp,
        parent: String? = nil, share: String? = nil, shortGUID: String? = nil, protection: Protection? = nil,
        sharing: Share? = nil
    ) {
        self.init(
            id: id, recordType: recordType, fields: .values(fields), changeTag: changeTag, created: created,
            modified: modified, parent: parent, share: share, shortGUID: shortGUID, protection: protection,
            sharing: sharing)
    }

    /// Creates a record with fields in either form.
    ///
    /// - Parameter fields: Packed fields that have been checked, or values.
    package init(
        id: RecordID, recordType: String, fields: PackableFields, changeTag: ChangeTag, created: Stamp,
        modified: Stamp, parent: String?, share: String?, shortGUID: String?, protection: Protection?,
        sharing: Share? = nil
    ) {
        storage = Storage(
            Properties(
                id: id, recordType: recordType, fields: fields, changeTag: changeTag, created: created,
                modified: modified, parent: parent, share: share, shortGUID: shortGUID, protection: protection,
                sharing: sharing))
    }
}

extension Record: Hashable {
    package static func == (first: Record, second: Record) -> Bool {
        first.storage === second.storage || first.storage.properties == second.storage.properties
    }

    package func hash(into hasher: inout Hasher) { storage.properties.hash(into: &hasher) }
}

extension Record {
    /// The id of the record.
    package var id: RecordID {
        get { storage.properties.id }
        _modify { yield &properties.id }
    }

    /// The record type.
    package var recordType: String {
        get { storage.properties.recordType }
        _modify { yield &properties.recordType }
    }

    /// The change tag.
    package var changeTag: ChangeTag {
        get { storage.properties.changeTag }
        _modify { yield &properties.changeTag }
    }

    /// The creation.
    package var created: Stamp {
        get { storage.properties.created }
        _modify { yield &properties.created }
    }

    /// The last modification.
    package var modified: Stamp {
        get { storage.properties.modified }
        _modify { yield &properties.modified }
    }

    /// The record name of the parent, in the same zone (B-REF-01).
    package var parent: String? {
        get { storage.properties.parent }
        _modify { yield &properties.parent }
    }

    /// The record name of the share whose root this record is.
    package var share: String? {
        get { storage.properties.share }
        _modify { yield &properties.share }
    }

    /// The short GUID of the record's share link; nil if there is none.
    package var shortGUID: String? {
        get { storage.properties.shortGUID }
        _modify { yield &properties.shortGUID }
    }

    /// The keys of its sealed values; nil where it never had any.
    package var protection: Protection? {
        get { storage.properties.protection }
        _modify { yield &properties.protection }
    }

    /// The properties of the share, for a record of the type `cloudkit.share`; nil for every other.
    package var sharing: Share? {
        get { storage.properties.sharing }
        _modify { yield &properties.sharing }
    }

    /// Sorted by name; a name occurs once.
    package var fields: [Field] {
        get { storage.properties.fields.values }
        set { properties.fields = .values(newValue) }
    }
}
