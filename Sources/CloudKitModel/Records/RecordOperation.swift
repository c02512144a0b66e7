/// What a client asks for one record (B-BAT-12).
package struct RecordOperation: Hashable, Sendable {
    /// The verbs of `records/modify`.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case create, update, forceUpdate, replace, forceReplace, delete, forceDelete

        package var isDelete: Bool { self == .delete || self == .forceDelete }

        /// Whether the change tag sent must be the one the server holds.
        package var checksTag: Bool { self == .update || self == .replace || self == .delete }
    }

    package var kind: Kind
    package var change: RecordChange

    package init(_ kind: Kind, _ change: RecordChange) {
        self.kind = kind
        self.change = change
    }
}

/// The part of a record that a client sends.
package struct RecordChange: Hashable, Sendable {
    /// nil: the server makes a UUID (B-REC-09).
    package var recordName: String?
    package var recordType: String?
    package var fields: [FieldChange]
    package var changeTag: ChangeTag?
    package var parent: ParentChange
    package var createShortGUID: Bool
    /// How the sealed values of the record are keyed from now on; nil: as before.
    package var protection: Protection?
    /// What is asked of a share; nil for every other record.
    package var share: ShareChange?
    /// The fields wanted back; nil: all, or what the request says.
    package var desiredKeys: [String]?

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

/// What a client does with one field.
package enum FieldChange: Hashable, Sendable {
    case set(Field)
    case remove(name: String)

    package var name: String {
        switch self {
        case .set(let field): field.name
        case .remove(let name): name
        }
    }
}

/// What a client does with a record's parent.
package enum ParentChange: Hashable, Sendable {
    case keep
    case remove
    case set(recordName: String)
}

/// One `records/modify` request.
package struct ModifyRecordsRequest: Hashable, Sendable {
    package var operations: [RecordOperation]
    package var zoneID: ZoneID
    /// nil: atomic where the zone can (B-BAT-01, B-BAT-04).
    package var atomic: Bool?
    /// The fields wanted back; nil: all.
    package var desiredKeys: [String]?
    package var numbersAsStrings: Bool
    /// Remembered with the zone and given back by its next change fetch (B-BAT-11).
    package var clientChangeToken: [UInt8]?

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
    package struct Item: Hashable, Sendable {
        package var recordName: String
        package var desiredKeys: [String]?

        package init(recordName: String, desiredKeys: [String]? = nil) {
            self.recordName = recordName
            self.desiredKeys = desiredKeys
        }
    }

    package var records: [Item]
    package var zoneID: ZoneID
    package var desiredKeys: [String]?
    package var numbersAsStrings: Bool

    package init(
        records: [Item], zoneID: ZoneID, desiredKeys: [String]? = nil, numbersAsStrings: Bool = false
    ) {
        self.records = records
        self.zoneID = zoneID
        self.desiredKeys = desiredKeys
        self.numbersAsStrings = numbersAsStrings
    }
}

/// What became of one record of a request.
package enum RecordOutcome: Hashable, Sendable {
    case record(Record)
    case deleted(RecordTombstone)
    case failed(recordName: String, RequestFailure)
}

/// A record that is gone.
package struct RecordTombstone: Hashable, Sendable {
    package var recordName: String
    /// Feeds name the type of what is gone (B-CHG-05); answers to a deletion need not.
    package var recordType: String?
    package var changeTag: ChangeTag?

    package init(recordName: String, recordType: String? = nil, changeTag: ChangeTag? = nil) {
        self.recordName = recordName
        self.recordType = recordType
        self.changeTag = changeTag
    }
}
