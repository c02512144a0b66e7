import CloudKitModel

/// The settings that the plan of a query depends on besides the query and the indexes.
package struct QuerySettings: Hashable, Sendable {
    /// Named in the text of one error.
    package var container: ContainerID
    /// Values of an `IN` (B-LIM-09).
    package var filterValuesMax: Int

    /// Creates a value with the given properties.
    package init(container: ContainerID, filterValuesMax: Int = 250) {
        self.container = container
        self.filterValuesMax = filterValuesMax
    }
}

/// Turns the filters and sorts of a query into conditions and an order, or throws the reason why they are invalid.
///
/// For one filter the first of these that applies is the error: a type that cannot be asked, a missing index, a comparator
/// that does not fit the field, a value that does not, too many values.
struct QueryCheck {
    let indexes: RecordIndexes
    let settings: QuerySettings

    // MARK: Filters

    func condition(_ filter: QueryFilter) throws(RequestFailure) -> QueryCondition {
        if filter.comparator == .never { return make([], .never, of: filter) }
        guard case .anySearchable = filter.key else { return try condition(filter, on: try field(filter)) }
        guard filter.comparator.isSearch else { throw .unexpectedFilter }
        let fields = indexes.searchableFields
        if fields.isEmpty { throw .notMarked("self", "searchable", of: indexes, settings: settings) }
        return make(fields, try search(filter), of: filter)
    }

    private func condition(_ filter: QueryFilter, on field: IndexedField) throws(RequestFailure) -> QueryCondition {
        let comparator = filter.comparator
        if comparator.isSearch {
            try require(field, anyOf: [.searchable], of: filter, word: "searchable")
            return make([field], try search(filter), of: filter)
        }
        try require(
            field, anyOf: comparator.isRange ? [.queryable, .sortable] : [.queryable], of: filter, word: "queryable")
        guard comparator.suits(field.type) else { throw .cannotBeQueried(filter, field) }
        return make([field], try test(filter, field), of: filter)
    }

    private func make(_ fields: [IndexedField], _ test: QueryCondition.Test, of filter: QueryFilter) -> QueryCondition {
        QueryCondition(
            fields, test, isNegated: filter.comparator.isNegation)
    }

    private func field(_ filter: QueryFilter) throws(RequestFailure) -> IndexedField {
        let name = filter.key.schemaName
        guard let field = indexes[name] else {
            throw .notMarked(filter.key.shownName, "queryable", of: indexes, settings: settings)
        }
        if field.type.isEncrypted || field.type.base == .bytes || field.type.base == .asset {
            throw .cannotBeQueried(filter, field)
        }
        return field
    }

    private func require(
        _ field: IndexedField, anyOf: IndexMarks, of filter: QueryFilter, word: String
    ) throws(RequestFailure) {
        if field.usable.isDisjoint(with: anyOf) {
            throw .notMarked(
                filter.key.shownName, word, of: indexes, settings: settings,
                isBuilding: !field.building.isDisjoint(with: anyOf))
        }
    }

    private func test(_ filter: QueryFilter, _ field: IndexedField) throws(RequestFailure) -> QueryCondition.Test {
        let base = field.type.base
        switch filter.comparator {
        case .equals, .notEquals: return .equals(try filter.value.fitted(to: base))
        case .lessThan: return .compares(.less, try filter.value.fitted(to: base))
        case .lessThanOrEquals: return .compares(.lessOrEqual, try filter.value.fitted(to: base))
        case .greaterThan: return .compares(.greater, try filter.value.fitted(to: base))
        case .greaterThanOrEquals: return .compares(.greaterOrEqual, try filter.value.fitted(to: base))
        case .in, .notIn: return .isIn(try list(filter, base))
        case .beginsWith, .notBeginsWith: return .beginsWith(try text(filter.value))
        case .near: return try near(filter)
        case .listContains, .notListContains: return .contains([try filter.value.fitted(to: base)], all: true)
        case .listContainsAll, .notListContainsAll: return .contains(try list(filter, base), all: true)
        case .listContainsAny, .notListContainsAny: return .contains(try list(filter, base), all: false)
        case .listMemberBeginsWith, .notListMemberBeginsWith: return .memberBeginsWith(try text(filter.value))
        case .containsAllTokens, .containsAnyTokens: return try search(filter)
        case .never: return .never
        }
    }

    private func list(_ filter: QueryFilter, _ base: FieldType.Base) throws(RequestFailure) -> [FieldValue] {
        guard case .list(_, let values) = filter.value else { throw .unexpectedFilter }
        try limit(values.count)
        var fitted: [FieldValue] = []
        for value in values { fitted.append(try value.fitted(to: base)) }
        return fitted
    }

    private func limit(_ count: Int) throws(RequestFailure) {
        if count <= settings.filterValuesMax { return }
        throw RequestFailure(
            .sizeLimitExceeded,
            "Query filter exceeds the limit of values: \(settings.filterValuesMax) for container "
                + settings.container.name,
            remedy: "Ask with fewer values at a time and put the results together.")
    }

    private func text(_ value: FieldValue) throws(RequestFailure) -> String {
        guard case .string(let text) = value else { throw .expected(.string) }
        return text
    }

    private func near(_ filter: QueryFilter) throws(RequestFailure) -> QueryCondition.Test {
        guard case .location(let center) = filter.value else { throw .expected(.location) }
        guard let distance = filter.distance, distance.isFinite, distance >= 0 else { throw .unexpectedFilter }
        return .isNear(Place(center), distance: distance)
    }

    private func search(_ filter: QueryFilter) throws(RequestFailure) -> QueryCondition.Test {
        var words: Set<String> = []
        switch filter.value {
        case .string, .list(.string, _): words = filter.value.words
        default: throw .expected(.string)
        }
        try limit(words.count)
        return .hasWords(words, all: filter.comparator == .containsAllTokens)
    }

    // MARK: Sorts

    func term(_ sort: QuerySort) throws(RequestFailure) -> QuerySortTerm {
        guard let field = indexes[sort.key.schemaName], field.usable.contains(.sortable), !field.type.isList else {
            let building = indexes[sort.key.schemaName]?.building.contains(.sortable) ?? false
            throw .notMarked(
                sort.key.shownName, "sortable", of: indexes, settings: settings, isBuilding: building)
        }
        guard field.type.base == .location else {
            if sort.relativeLocation != nil { throw .unexpectedFilter }
            return QuerySortTerm(field: field, isAscending: sort.ascending, center: nil)
        }
        guard let center = sort.relativeLocation else { throw .unexpectedFilter }
        guard sort.ascending else {
            throw RequestFailure(
                .badRequest, "Descending order by distance is not supported",
                remedy: "Sort by distance in ascending order.")
        }
        return QuerySortTerm(field: field, isAscending: true, center: Place(center))
    }
}

extension QueryFilter.Comparator {
    var isNegation: Bool {
        switch self {
        case .notEquals, .notIn, .notBeginsWith, .notListContains, .notListContainsAll, .notListContainsAny,
            .notListMemberBeginsWith:
            true
        default: false
        }
    }

    var isSearch: Bool { self == .containsAllTokens || self == .containsAnyTokens }

    var isRange: Bool {
        switch self {
        case .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals: true
        default: false
        }
    }

    /// Whether fields of the type can be asked this (B-QRY-04, B-QRY-06).
    func suits(_ type: FieldType) -> Bool {
        switch self {
        case .equals, .notEquals, .in, .notIn: !type.isList
        case .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals:
            !type.isList && type.base != .reference && type.base != .location
        case .near: !type.isList && type.base == .location
        case .beginsWith, .notBeginsWith: !type.isList && type.base == .string
        case .listContains, .notListContains, .listContainsAll, .notListContainsAll, .listContainsAny,
            .notListContainsAny:
            type.isList
        case .listMemberBeginsWith, .notListMemberBeginsWith: type.isList && type.base == .string
        case .containsAllTokens, .containsAnyTokens: type.base == .string
        case .never: true
        }
    }
}

extension QueryKey {
    /// The name in errors: the record's name goes by its own word there (B-QRY-15).
    var shownName: String {
        switch self {
        case .system(.recordName): QueryKey.SystemField.recordName.rawValue
        default: schemaName
        }
    }
}

extension FieldValue {
    /// The value as one of a field's type: whole numbers are doubles and times too, and a name is a reference, since a
    /// filter's value may come without a tag (docs/web-services.md §4.1, §6.4).
    ///
    /// - Throws: `badRequest`, `Invalid value, expected type X.`
    fileprivate func fitted(to base: FieldType.Base) throws(RequestFailure) -> FieldValue {
        switch (base, self) {
        case (.string, .string), (.int64, .int64), (.double, .double), (.timestamp, .timestamp),
            (.reference, .reference), (.location, .location):
            return self
        case (.double, .int64(let number)): return .double(Double(number))
        case (.timestamp, .int64(let number)): return .timestamp(number)
        case (.reference, .string(let name)): return .name(name)
        case (.int64, .double(let number)):
            guard let whole = Int64(exactly: number) else { throw .expected(base) }
            return .int64(whole)
        case (.timestamp, .double(let number)):
            guard let whole = Int64(exactly: number) else { throw .expected(base) }
            return .timestamp(whole)
        default: throw .expected(base)
        }
    }
}

extension RequestFailure {
    /// A question that needs an index which is not there (B-QRY-15).
    static func notMarked(
        _ name: String, _ word: String, of indexes: RecordIndexes, settings: QuerySettings, isBuilding: Bool = false
    ) -> RequestFailure {
        let remedy =
            isBuilding
            ? "The index is being built: ask again later."
            : indexRemedy(name, word, of: indexes, settings: settings)
        return RequestFailure(.indexMissing, "Field '\(name)' is not marked \(word)", remedy: remedy)
    }

    /// Names the command and, for tests, the call that add an index and keep those that the field has.
    static func indexRemedy(
        _ name: String, _ word: String, of indexes: RecordIndexes, settings: QuerySettings
    ) -> String {
        let held = indexes.fields.first { $0.name == name || $0.systemField?.rawValue == name }?.marks ?? []
        let words = [(IndexMarks.queryable, "queryable"), (.sortable, "sortable"), (.searchable, "searchable")]
            .filter { held.contains($0.0) || $0.1 == word }.map(\.1)
        let field = name == "self" ? "FIELD" : name
        return
            "Mark the field as \(word): welkin schema index \(settings.container.name) \(indexes.recordType) \(field) "
            + words.map { "--" + $0 }.joined(separator: " ")
            + "; in a test: cloud.index(\"\(field)\", of: \"\(indexes.recordType)\", in: "
            + "\"\(settings.container.name)\", [\(words.map { "." + $0 }.joined(separator: ", "))])"
    }

    fileprivate static func cannotBeQueried(_ filter: QueryFilter, _ field: IndexedField) -> RequestFailure {
        RequestFailure(
            .badRequest,
            "Field '\(filter.key.shownName)' has a value type of \(field.type.description) and cannot be queried using "
                + "filter type \(filter.comparator.rawValue)",
            remedy: "Use a comparator that the field's type allows.")
    }

    fileprivate static func expected(_ base: FieldType.Base) -> RequestFailure {
        RequestFailure(.badRequest, "Invalid value, expected type \(base.word).")
    }

    fileprivate static var unexpectedFilter: RequestFailure {
        RequestFailure(.badRequest, "BadRequestException: Unexpected input")
    }
}
