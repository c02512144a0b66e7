import CloudKitModel

/// A field as saves have stored it: what such a save needs of a schema, without values.
package struct SaveShape: Hashable, Sendable {
    /// The record type.
    package var recordType: String
    /// The field; nil for a save without fields.
    package var field: String?
    /// The type of the field's values.
    package var type: FieldType?

    /// Creates a value with the given properties.
    package init(recordType: String, field: String? = nil, type: FieldType? = nil) {
        self.recordType = recordType
        self.field = field
        self.type = type
    }

    /// Whether a schema that does not grow accepts the save.
    func isAccepted(by schema: SchemaDocument) -> Bool {
        guard let known = schema[recordType] else { return false }
        guard let field else { return true }
        return known.fields[field]?.type == type
    }

    /// The save as reports name it.
    package var shown: String {
        guard let field, let type else { return "save of \(recordType)" }
        return "save of \(recordType).\(field) as \(type.schemaWord)"
    }
}

/// A query without its values: what it needs of a schema.
package struct QueryShape: Hashable, Sendable {
    /// A key with a comparison.
    package struct Filter: Hashable, Sendable {
        /// The key that is compared.
        package var key: QueryKey
        /// The comparison.
        package var comparator: QueryFilter.Comparator

        /// Creates a value with the given properties.
        package init(_ key: QueryKey, _ comparator: QueryFilter.Comparator) {
            self.key = key
            self.comparator = comparator
        }
    }

    /// The record type.
    package var recordType: String
    /// The filters, in their order, each once.
    package var filters: [Filter]
    /// The keys of the order.
    package var sorts: [QueryKey]

    /// Creates a value with the given properties.
    package init(recordType: String, filters: [Filter] = [], sorts: [QueryKey] = []) {
        self.recordType = recordType
        self.filters = filters
        self.sorts = sorts
    }

    /// The shape of a query.
    package init(_ query: Query) {
        recordType = query.recordType
        filters = []
        for filter in query.filters.map({ Filter($0.key, $0.comparator) }) where !filters.contains(filter) {
            filters.append(filter)
        }
        sorts = query.sorts.map(\.key)
    }

    /// The query as reports name it.
    package var shown: String {
        var text = "query of \(recordType)"
        if !filters.isEmpty {
            text += " where " + filters.map { "\($0.key.shown) \($0.comparator.rawValue)" }.joined(separator: " and ")
        }
        if !sorts.isEmpty { text += " sorted by " + sorts.map(\.shown).joined(separator: ", ") }
        return text
    }

    /// An index that a query needs and a type does not have.
    package struct MissingIndex: Hashable, Sendable {
        /// The field, or a system field by its name in schemas.
        package var field: String
        /// The index that the query needs.
        package var index: FieldIndexes
    }

    /// The indexes that the query needs and a type does not have, whether or not older records are covered (B-QRY-14,
    /// B-QRY-15).
    package func missingIndexes(in type: RecordTypeDefinition) -> [MissingIndex] {
        var missing: [MissingIndex] = []
        func need(_ wanted: FieldIndexes, _ key: QueryKey, orElse other: FieldIndexes = []) {
            if type.indexes(of: key).isDisjoint(with: wanted.union(other)) {
                let index = MissingIndex(field: key.shown, index: wanted)
                if !missing.contains(index) { missing.append(index) }
            }
        }
        for filter in filters {
            switch filter.comparator {
            case .never: continue
            case .containsAllTokens, .containsAnyTokens: need(.searchable, filter.key)
            case .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals:
                need(.queryable, filter.key, orElse: .sortable)
            default: need(.queryable, filter.key)
            }
        }
        if filters.isEmpty { need(.queryable, .system(.recordName)) }
        for sort in sorts { need(.sortable, sort) }
        return missing
    }

    /// Whether a schema answers the query.
    func isAnswered(by schema: SchemaDocument) -> Bool {
        schema[recordType].map { missingIndexes(in: $0).isEmpty } ?? false
    }
}

extension RecordTypeDefinition {
    /// Returns the indexes on a key; for a full-text search over all fields those of any field.
    fileprivate func indexes(of key: QueryKey) -> FieldIndexes {
        switch key {
        case .field(let name): fields[name]?.indexes ?? []
        case .system(let field): systemIndexes[field] ?? []
        case .anySearchable: fields.values.reduce([]) { $0.union($1.indexes) }
        }
    }
}

extension QueryKey {
    /// The key as reports name it.
    var shown: String {
        self == .anySearchable ? "self" : schemaName
    }
}

/// The requests that an environment has served, as far as schemas matter for them.
package struct ServedRequests: Hashable, Sendable {
    /// The saves.
    package var saves: Set<SaveShape>
    /// The queries, and those that were refused for want of an index.
    package var queries: Set<QueryShape>

    /// Creates a value with the given properties.
    package init(saves: Set<SaveShape> = [], queries: Set<QueryShape> = []) {
        self.saves = saves
        self.queries = queries
    }
}
