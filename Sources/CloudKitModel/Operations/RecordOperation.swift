/// The operation of a client on one record (B-BAT-12).
package struct RecordOperation: Hashable, Sendable {
    /// The verbs of `records/modify`.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case create, update, forceUpdate, replace, forceReplace, delete, forceDelete

        /// A Boolean value that indicates whether the operation deletes.
        package var isDelete: Bool { self == .delete || self == .forceDelete }

        /// A Boolean value that indicates whether the change tag sent must be the one the server holds.
        package var checksTag: Bool { self == .update || self == .replace || self == .delete }
    }

    /// The verb.
    package var kind: Kind
    /// The change.
    package var change: RecordChange

    /// Creates an operation.
    package init(_ kind: Kind, _ change: RecordChange) {
        self.kind = kind
        self.change = change
    }
}

/// The part of a record that a client sends.
package struct RecordChange: Hashable, Sendable {
    /// nil: the server makes a UUID (B-REC-09).
    package var recordName: String?
    /// The record type; nil for a deletion.
    package var recordType: String?
    /// The changes to fields.
    package var fields: [FieldChange]
    /// The change tag that the client holds; nil for none.
    package var changeTag: ChangeTag?
    /// The change to the parent.
    package var parent: ParentChange
    /// A Boolean value that indicates whether a short GUID is requested.
    package var createShortGUID: Bool
    /// The new keys of the record's sealed values; nil for no change.
    package var protection: Protection?
    /// The change to the share; nil for every other record.
    package var share: ShareChange?
    /// The fields to return; nil: all, or those that the request names.
    package var desiredKeys: [String]?

    /// Creates a value with the given properties.
    package init(
        recordName: String?, recordType: String? = nil, fields: [FieldChange] = [], changeTag: ChangeTag? = nil,
        parent: ParentChange = .keep, createShortGUID: Bool = false, protection: Protection? = nil,
        share: ShareChange? = nil,
        desiredKeys: [String]? = nil
    ) {
        self.recordName = recordName
        self.recordType = recordType
        self.fields = fields
        self.changeTag = changeTag
        self.parent = parent
        self.createShortGUID = createShortGUID
        self.protection = protection
        self.share = share
        self.desiredKeys = desiredKeys
    }
}

/// The change of a client to one field.
package enum FieldChange: Hashable, Sendable {
    case set(Field)
    case remove(name: String)

    /// The name of the field.
    package var name: String {
        switch self {
        case .set(let field): field.name
        case .remove(let name): name
        }
    }
}

/// The change of a client to a record's parent.
package enum ParentChange: Hashable, Sendable {
    case keep
    case remove
    case set(recordName: String)
}

/// One `records/modify` request.
package struct ModifyRecordsRequest: Hashable, Sendable {
    /// The operations, at most one a record.
    package var operations: [RecordOperation]
    /// The zone of the records.
    package var zoneID: ZoneID
    /// nil: atomic where the zone can (B-BAT-01, B-BAT-04).
    package var atomic: Bool?
    /// The fields wanted back; nil: all.
    package var desiredKeys: [String]?
    /// A Boolean value that indicates whether numbers are sent as strings.
    package var numbersAsStrings: Bool
    /// Remembered with the zone and given back by its next change fetch (B-BAT-11).
    package var clientChangeToken: [UInt8]?
    /// The device's own state of the zone, kept if the operations take effect; nil: it has not changed.
    package var stateUpdate: ZoneStateUpdate?

    /// Creates a value with the given properties.
    package init(
        operations: [RecordOperation], zoneID: ZoneID, atomic: Bool? = nil, desiredKeys: [String]? = nil,
        numbersAsStrings: Bool = false, clientChangeToken: [UInt8]? = nil
    ) {
        self.operations = operations
        self.zoneID = zoneID
        self.atomic = atomic
        self.desiredKeys = desiredKeys
        self.numbersAsStrings = numbersAsStrings
        self.clientChangeToken = clientChangeToken
    }
}

/// One `records/lookup` request.
package struct LookupRecordsRequest: Hashable, Sendable {
    /// One record to look up.
    package struct Item: Hashable, Sendable {
        /// The name of the record.
        package var recordName: String
        /// The fields to return; nil for those of the request.
        package var desiredKeys: [String]?

        /// Creates a value with the given properties.
        package init(recordName: String, desiredKeys: [String]? = nil) {
            self.recordName = recordName
            self.desiredKeys = desiredKeys
        }
    }

    /// The records to look up.
    package var records: [Item]
    /// The zone of the records.
    package var zoneID: ZoneID
    /// The fields to return; nil for all.
    package var desiredKeys: [String]?
    /// A Boolean value that indicates whether numbers are sent as strings.
    package var numbersAsStrings: Bool

    /// Creates a value with the given properties.
    package init(
        records: [Item], zoneID: ZoneID, desiredKeys: [String]? = nil, numbersAsStrings: Bool = false
    ) {
        self.records = records
        self.zoneID = zoneID
        self.desiredKeys = desiredKeys
        self.numbersAsStrings = numbersAsStrings
    }
}

/// The outcome of one record of a request.
package enum RecordOutcome: Hashable, Sendable {
    case record(Record)
    case deleted(RecordTombstone)
    case failed(recordName: String, RequestFailure)
}

/// A record that is gone.
package struct RecordTombstone: Hashable, Sendable {
    /// The name of the record.
    package var recordName: String
    /// The record type, which feeds name (B-CHG-05); answers to a deletion need not.
    package var recordType: String?
    /// The change tag of the tombstone; nil if unknown.
    package var changeTag: ChangeTag?

    /// Creates a value with the given properties.
    package init(recordName: String, recordType: String? = nil, changeTag: ChangeTag? = nil) {
        self.recordName = recordName
        self.recordType = recordType
        self.changeTag = changeTag
    }
}
