/// A record is known by its name within a zone, across all types (B-REC-10).
package struct RecordID: Hashable, Sendable {
    package var recordName: String
    package var zoneID: ZoneID

    package init(recordName: String, zoneID: ZoneID) {
        self.recordName = recordName
        self.zoneID = zoneID
    }
}

/// The version of a record's content: opaque, compared for equality only (B-REC-06).
package struct ChangeTag: Hashable, Sendable {
    package let value: String

    package init(_ value: String) { self.value = value }
}

/// When, by whom and from which device a record was created or last modified.
package struct Stamp: Hashable, Sendable {
    /// Milliseconds since 1970.
    package var timestamp: Int64
    package var user: UserID
    package var deviceID: String?

    package init(timestamp: Int64, user: UserID, deviceID: String? = nil) {
        self.timestamp = timestamp
        self.user = user
        self.deviceID = deviceID
    }
}

/// A record as the server holds it and as an answer carries it.
package struct Record: Hashable, Sendable {
    package var id: RecordID
    package var recordType: String
    /// Sorted by name; a name occurs once.
    package var fields: [Field]
    package var changeTag: ChangeTag
    package var created: Stamp
    package var modified: Stamp
    /// The record name of the parent, in the same zone (B-REF-01).
    package var parent: String?
    /// The record name of the share whose root this record is.
    package var share: String?
    package var shortGUID: String?
    /// How its sealed values are keyed; nil where it never had any.
    package var protection: Protection?

    /// What a record of the type `cloudkit.share` says besides its fields; nil for every other.
    package var sharing: Share?

    package init(
        id: RecordID, recordType: String, fields: [Field], changeTag: ChangeTag, created: Stamp, modified: Stamp,
        parent: String? = nil, share: String? = nil, shortGUID: String? = nil, protection: Protection? = nil,
        sharing: Share? = nil
    ) {
        self.id = id
        self.recordType = recordType
        self.fields = fields
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
