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
package struct Record: Hashable, Sendable {
    /// The id of the record.
    package var id: RecordID
    /// The record type.
    package var recordType: String
    /// The fields, packed where they come from the store as they are.
    package private(set) var packableFields: PackableFields
    /// The change tag.
    package var changeTag: ChangeTag
    /// The creation.
    package var created: Stamp
    /// The last modification.
    package var modified: Stamp
    /// The record name of the parent, in the same zone (B-REF-01).
    package var parent: String?
    /// The record name of the share whose root this record is.
    package var share: String?
    /// The short GUID of the record's share link; nil if there is none.
    package var shortGUID: String?
    /// The keys of its sealed values; nil where it never had any.
    package var protection: Protection?

    /// The properties of the share, for a record of the type `cloudkit.share`; nil for every other.
    package var sharing: Share?

    /// Creates a value with the given properties.
    package init(
        id: RecordID, recordType: String, fields: [Field], changeTag: ChangeTag, created: Stamp, modified: Stamp,
        parent: String? = nil, share: String? = nil, shortGUID: String? = nil, protection: Protection? = nil,
        sharing: Share? = nil
    ) {
        self.id = id
        self.recordType = recordType
        packableFields = .values(fields)
        self.changeTag = changeTag
        self.created = created
        self.modified = modified
        self.parent = parent
        self.share = share
        self.shortGUID = shortGUID
        self.protection = protection
        self.sharing = sharing
    }
}

extension Record {
    /// Sorted by name; a name occurs once.
    package var fields: [Field] {
        get { packableFields.values }
        _modify {
            var fields = packableFields.values
            // So that a change need not copy them.
            packableFields = .values([])
            defer { packableFields = .values(fields) }
            yield &fields
        }
    }

    /// Returns the record with packed fields in place of its own.
    ///
    /// - Parameter packed: Fields that have been checked.
    package func with(_ packed: PackedFields) -> Record {
        var result = self
        result.packableFields = .packed(packed)
        return result
    }
}
