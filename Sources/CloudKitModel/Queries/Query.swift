/// The query of a `records/query` request: one record type, a conjunction of filters, an order (B-QRY-01).
package struct Query: Hashable, Sendable {
    /// The record type.
    package var recordType: String
    /// The filters, all of which a record must meet.
    package var filters: [QueryFilter]
    /// The order, most significant key first.
    package var sorts: [QuerySort]

    /// Creates a value with the given properties.
    package init(recordType: String, filters: [QueryFilter] = [], sorts: [QuerySort] = []) {
        self.recordType = recordType
        self.filters = filters
        self.sorts = sorts
    }
}

/// A field, or one of the record's own attributes (B-QRY-13).
package enum QueryKey: Hashable, Sendable {
    case field(String)
    case system(SystemField)
    /// Every searchable field at once: full text (B-QRY-08).
    case anySearchable

    /// The attributes that every record has.
    package enum SystemField: String, Hashable, Sendable, CaseIterable {
        case recordName, share, parent
        case createdUserRecordName, createdTimestamp, modifiedTimestamp, modifiedUserRecordName

        /// The name in schemas and errors of the store, `___createTime` and so on.
        package var schemaName: String {
            switch self {
            case .recordName: "___recordID"
            case .share: "___share"
            case .parent: "___parent"
            case .createdUserRecordName: "___createdBy"
            case .createdTimestamp: "___createTime"
            case .modifiedTimestamp: "___modTime"
            case .modifiedUserRecordName: "___modifiedBy"
            }
        }

        /// Creates the attribute with a name in schemas; nil for another name.
        package init?(schemaName: some StringProtocol) {
            guard let known = Self.allCases.first(where: { $0.schemaName == schemaName }) else { return nil }
            self = known
        }
    }

    /// The name in schemas of a field or an attribute; empty for full text.
    package var schemaName: String {
        switch self {
        case .field(let name): name
        case .system(let field): field.schemaName
        case .anySearchable: ""
        }
    }
}

/// One condition on one key.
package struct QueryFilter: Hashable, Sendable {
    /// The comparisons of web services.
    package enum Comparator: String, Hashable, Sendable, CaseIterable {
        case equals = "EQUALS"
        case notEquals = "NOT_EQUALS"
        case lessThan = "LESS_THAN"
        case lessThanOrEquals = "LESS_THAN_OR_EQUALS"
        case greaterThan = "GREATER_THAN"
        case greaterThanOrEquals = "GREATER_THAN_OR_EQUALS"
        case near = "NEAR"
        case containsAllTokens = "CONTAINS_ALL_TOKENS"
        case containsAnyTokens = "CONTAINS_ANY_TOKENS"
        case `in` = "IN"
        case notIn = "NOT_IN"
        case beginsWith = "BEGINS_WITH"
        case notBeginsWith = "NOT_BEGINS_WITH"
        case listContains = "LIST_CONTAINS"
        case notListContains = "NOT_LIST_CONTAINS"
        case listContainsAll = "LIST_CONTAINS_ALL"
        case notListContainsAll = "NOT_LIST_CONTAINS_ALL"
        case listContainsAny = "LIST_CONTAINS_ANY"
        case notListContainsAny = "NOT_LIST_CONTAINS_ANY"
        case listMemberBeginsWith = "LIST_MEMBER_BEGINS_WITH"
        case notListMemberBeginsWith = "NOT_LIST_MEMBER_BEGINS_WITH"
        /// Matches no record (`FALSEPREDICATE`); only our own SDK sends it.
        case never = "WELKIN_NEVER"
    }

    /// The key that is compared.
    package var key: QueryKey
    /// The comparison.
    package var comparator: Comparator
    /// Lists for the `IN` family, a single value otherwise; references for `parent`, `share` and user names.
    package var value: FieldValue
    /// Metres, for `near`.
    package var distance: Double?

    /// Creates a value with the given properties.
    package init(key: QueryKey, comparator: Comparator, value: FieldValue, distance: Double? = nil) {
        self.key = key
        self.comparator = comparator
        self.value = value
        self.distance = distance
    }
}

/// One key of an order.
package struct QuerySort: Hashable, Sendable {
    /// The key to sort by.
    package var key: QueryKey
    /// A Boolean value that indicates whether smaller values come first.
    package var ascending: Bool
    /// Order by the distance from here instead of by value (B-QRY-11).
    package var relativeLocation: LocationValue?

    /// Creates a value with the given properties.
    package init(key: QueryKey, ascending: Bool = true, relativeLocation: LocationValue? = nil) {
        self.key = key
        self.ascending = ascending
        self.relativeLocation = relativeLocation
    }
}

/// One `records/query` request.
package struct QueryRecordsRequest: Hashable, Sendable {
    /// The query.
    package var query: Query
    /// nil with `zoneWide`: every zone of the database.
    package var zoneID: ZoneID?
    /// A Boolean value that indicates whether all zones of the database are searched.
    package var zoneWide: Bool
    /// 0 or nil: the server decides (B-QRY-19).
    package var resultsLimit: Int?
    /// The marker from which to continue; nil for the beginning.
    package var continuationMarker: String?
    /// The fields to return; nil for all.
    package var desiredKeys: [String]?
    /// A Boolean value that indicates whether numbers are sent as strings.
    package var numbersAsStrings: Bool

    /// Creates a value with the given properties.
    package init(
        query: Query, zoneID: ZoneID?, zoneWide: Bool = false, resultsLimit: Int? = nil,
        continuationMarker: String? = nil, desiredKeys: [String]? = nil, numbersAsStrings: Bool = false
    ) {
        self.query = query
        self.zoneID = zoneID
        self.zoneWide = zoneWide
        self.resultsLimit = resultsLimit
        self.continuationMarker = continuationMarker
        self.desiredKeys = desiredKeys
        self.numbersAsStrings = numbersAsStrings
    }
}

/// One page of a query's results.
package struct QueryPage: Hashable, Sendable {
    /// The records of this page.
    package var records: [Record]
    /// The failures of matching records that cannot be returned, by record name.
    package var failures: [String: RequestFailure]
    /// Only if there is more.
    package var continuationMarker: String?

    /// Creates a value with the given properties.
    package init(records: [Record], failures: [String: RequestFailure] = [:], continuationMarker: String? = nil) {
        self.records = records
        self.failures = failures
        self.continuationMarker = continuationMarker
    }
}
