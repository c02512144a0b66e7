import CloudKitModel
import CoreLocation
import Foundation

extension CKQuery {
    /// The query as it is sent.
    ///
    /// - Parameter zoneID: The zone that is searched; nil: all zones of the database.
    /// - Throws: `CKError.invalidArguments` for what CloudKit cannot run, never silence (B-QRY-17).
    func model(in zoneID: CKRecordZone.ID?) throws(CKError) -> Query {
        let translation = QueryTranslator(zoneID: zoneID)
        var sorts: [QuerySort] = []
        for term in sortTerms ?? [] {
            sorts.append(try translation.sort(term))
        }
        return Query(recordType: recordType, filters: try translation.filters(tree), sorts: sorts)
    }
}

/// Turns a predicate and an order into the filters and sorts of a query, or says what CloudKit does not allow.
struct QueryTranslator {
    let zoneID: CKRecordZone.ID?

    // MARK: Conditions

    func filters(_ tree: PredicateTree) throws(CKError) -> [QueryFilter] {
        switch tree {
        case .constant(let flag): return flag ? [] : [Self.never]
        case .comparison(let comparison): return try ComparisonTranslator(comparison, zoneID).filters()
        case .and(let parts):
            var filters: [QueryFilter] = []
            for part in parts { filters += try self.filters(part) }
            return filters
        case .or: throw Self.refused("OR is not supported; run one query for each side and put the results together")
        case .not(let part): return try negated(part)
        case .opaque: throw Self.refused("a block predicate cannot be sent to a server; use a format")
        case .malformed(let reason): throw Self.refused("the format cannot be read: \(reason)")
        }
    }

    /// `NOT` must not wrap an AND, a tokenised search, a distance test or BETWEEN (B-QRY-05).
    private func negated(_ tree: PredicateTree) throws(CKError) -> [QueryFilter] {
        switch tree {
        case .constant(let flag): return try filters(.constant(!flag))
        case .not(let part): return try filters(part)
        case .and(let parts) where parts.count == 1: return try negated(parts[0])
        case .or(let parts) where parts.count == 1: return try negated(parts[0])
        case .and: throw Self.refused("NOT cannot be applied to AND")
        case .or: return try filters(tree)
        case .comparison(let comparison): return try ComparisonTranslator(comparison, zoneID).negatedFilters()
        case .opaque, .malformed: return try filters(tree)
        }
    }

    /// A filter that no record passes; `equals` nothing in particular.
    static let never = QueryFilter(key: .system(.recordName), comparator: .never, value: .int64(0))

    static func refused(_ reason: String) -> CKError {
        CKError.invalidArguments("Invalid predicate: \(reason)")
    }

    // MARK: Keys

    /// The names of a record's own attributes (B-QRY-13), in the app's spelling, the schema's and the wire's.
    private static let systemFields: [String: QueryKey.SystemField] = [
        "recordID": .recordName, "recordName": .recordName, "___recordID": .recordName,
        "recordID.recordName": .recordName, "creationDate": .createdTimestamp, "___createTime": .createdTimestamp,
        "modificationDate": .modifiedTimestamp, "___modTime": .modifiedTimestamp,
        "creatorUserRecordID": .createdUserRecordName, "___createdBy": .createdUserRecordName,
        "lastModifiedUserRecordID": .modifiedUserRecordName, "___modifiedBy": .modifiedUserRecordName,
        "parent": .parent, "___parent": .parent, "share": .share, "___share": .share,
    ]

    static func key(_ name: String) throws(CKError) -> QueryKey {
        if let system = systemFields[name] { return .system(system) }
        guard !name.isEmpty else { throw refused("a key is missing") }
        guard !name.contains(".") || Validity.shareFieldNames.contains(name) else {
            throw refused("key paths are not supported: '\(name)'")
        }
        guard !name.hasPrefix("@") else { throw refused("collection operators are not supported: '\(name)'") }
        return .field(name)
    }

    // MARK: Order

    func sort(_ term: SortDescriptorTerm) throws(CKError) -> QuerySort {
        guard let name = term.key, !name.isEmpty else {
            throw CKError.invalidArguments(
                "Invalid sort descriptor: it has no key that a server knows; use NSSortDescriptor(key:ascending:)")
        }
        let key: QueryKey
        do {
            key = try Self.key(name)
        } catch {
            throw CKError.invalidArguments("Invalid sort descriptor: '\(name)' is not the name of a field")
        }
        guard let location = term.relativeLocation else { return QuerySort(key: key, ascending: term.ascending) }
        // Distances cannot be sorted in descending order (B-QRY-11).
        return QuerySort(
            key: key, ascending: true, relativeLocation: try ComparisonTranslator.place(location, key: name))
    }
}

/// Turns one comparison into filters.
struct ComparisonTranslator {
    private let comparison: PredicateTree.Comparison
    private let zoneID: CKRecordZone.ID?

    init(_ comparison: PredicateTree.Comparison, _ zoneID: CKRecordZone.ID?) {
        self.comparison = comparison
        self.zoneID = zoneID
    }

    func filters() throws(CKError) -> [QueryFilter] {
        try refuseForeignWords()
        if let search = try textSearch() { return [search] }
        if let near = try distance() { return [near] }
        let (name, comparator, value) = try sides()
        let key = try QueryTranslator.key(name)
        if comparison.modifier == .any, let member = try memberTest(of: key, named: name, by: comparator, with: value) {
            return [member]
        }
        return try filters(key, named: name, by: comparator, with: value)
    }

    /// `ANY list = x` and `ANY list BEGINSWITH x` ask for a member of the field's list, `ANY {a, b} = field` for a field that
    /// equals one of several values (B-QRY-04); nil for other comparisons.
    private func memberTest(
        of key: QueryKey, named name: String, by comparator: PredicateComparator, with value: PredicateValue
    ) throws(CKError) -> QueryFilter? {
        guard case .key = comparison.left else {
            guard comparator == .equal else { return nil }
            guard case .list(let elements) = value else { throw QueryTranslator.refused("ANY takes a list") }
            guard !elements.isEmpty else { return QueryTranslator.never }
            var values: [FieldValue] = []
            for element in elements { values.append(try single(element, for: key, named: name)) }
            return QueryFilter(key: key, comparator: .in, value: try FieldConverter.list(of: values, key: name))
        }
        switch comparator {
        case .equal:
            return QueryFilter(key: key, comparator: .listContains, value: try member(value, of: key, named: name))
        case .beginsWith:
            guard case .string(let text) = value else { throw QueryTranslator.refused("BEGINSWITH takes a string") }
            return QueryFilter(key: key, comparator: .listMemberBeginsWith, value: .string(text))
        default: return nil
        }
    }

    func negatedFilters() throws(CKError) -> [QueryFilter] {
        try refuseForeignWords()
        if try textSearch() != nil { throw QueryTranslator.refused("NOT cannot be applied to a tokenized search") }
        if try distance() != nil { throw QueryTranslator.refused("NOT cannot be applied to a distance") }
        guard comparison.comparator != .between else {
            throw QueryTranslator.refused("NOT cannot be applied to BETWEEN")
        }
        let positive = try filters()
        // `IN` of nothing, whose opposite is everything.
        guard let filter = positive.first, filter.comparator != .never else { return [] }
        return [try Self.negated(filter)]
    }

    private static func negated(_ filter: QueryFilter) throws(CKError) -> QueryFilter {
        guard let comparator = opposites[filter.comparator] else {
            throw QueryTranslator.refused("NOT cannot be applied to this comparison")
        }
        var filter = filter
        filter.comparator = comparator
        return filter
    }

    private static let opposites: [QueryFilter.Comparator: QueryFilter.Comparator] = [
        .equals: .notEquals, .notEquals: .equals, .lessThan: .greaterThanOrEquals, .greaterThanOrEquals: .lessThan,
        .greaterThan: .lessThanOrEquals, .lessThanOrEquals: .greaterThan, .in: .notIn, .beginsWith: .notBeginsWith,
        .listContains: .notListContains, .listMemberBeginsWith: .notListMemberBeginsWith,
        .listContainsAll: .notListContainsAll, .listContainsAny: .notListContainsAny,
    ]

    /// Refuses conditions that can be parsed but not run (B-QRY-03).
    private func refuseForeignWords() throws(CKError) {
        switch comparison.comparator {
        case .like, .matches, .endsWith:
            throw QueryTranslator.refused("\(comparison.comparator.rawValue) is not supported")
        default: break
        }
        switch comparison.modifier {
        case .all: throw QueryTranslator.refused("ALL is not supported")
        case .none: throw QueryTranslator.refused("NONE is not supported; write NOT (ANY …)")
        case .any where ![.in, .contains, .equal, .beginsWith].contains(comparison.comparator):
            throw QueryTranslator.refused("ANY and SOME go with =, IN, CONTAINS and BEGINSWITH only")
        case .any, .direct: break
        }
        for side in [comparison.left, comparison.right] {
            if case .variable(let name) = side { throw QueryTranslator.refused("the variable $\(name) has no value") }
            if case .other(let text) = side { throw QueryTranslator.refused("'\(text)' is not supported") }
        }
        // Full text ignores case and accents anyway (B-QRY-08).
        let isFullText = comparison.left == .itself || comparison.left == .key("allTokens")
        guard comparison.options.isEmpty || isFullText || comparison.comparator == .tokenMatches else {
            throw QueryTranslator.refused(
                "\(comparison.comparator.rawValue)[\(comparison.options)] is not supported; leave the options out")
        }
    }

    // MARK: Full text

    /// `self CONTAINS 'words'` asks for any of the words, `self CONTAINS tokenize(…)` and `allTokens TOKENMATCHES …` for
    /// all (B-QRY-08).
    private func textSearch() throws(CKError) -> QueryFilter? {
        switch (comparison.left, comparison.comparator) {
        case (.itself, .contains), (.key("allTokens"), .contains):
            let (text, isTokenized) = try searchText()
            return QueryFilter(
                key: .anySearchable, comparator: isTokenized ? .containsAllTokens : .containsAnyTokens,
                value: .string(text))
        case (.itself, .tokenMatches), (.key("allTokens"), .tokenMatches):
            return QueryFilter(key: .anySearchable, comparator: .containsAllTokens, value: .string(try searchText().0))
        case (.key(let name), .tokenMatches):
            return QueryFilter(
                key: try QueryTranslator.key(name), comparator: .containsAllTokens, value: .string(try searchText().0))
        case (_, .tokenMatches):
            throw QueryTranslator.refused("TOKENMATCHES goes with self, allTokens or the name of a field")
        case (.itself, _):
            throw QueryTranslator.refused("self goes with CONTAINS only")
        default:
            return nil
        }
    }

    private func searchText() throws(CKError) -> (String, isTokenized: Bool) {
        switch comparison.right {
        case .constant(.string(let text)): return (text, false)
        case .function(let name, let arguments) where ["tokenize", "tokenize:using:"].contains(name.lowercased()):
            guard case .constant(.string(let text))? = arguments.first else { break }
            return (text, true)
        default: break
        }
        throw QueryTranslator.refused("a full-text search takes a string")
    }

    // MARK: Distance

    private static let distanceFunction = "distanceToLocation:fromLocation:"

    /// Inside a circle, and nothing else (B-QRY-10).
    private func distance() throws(CKError) -> QueryFilter? {
        let (function, comparator, radius) = oriented {
            if case .function(Self.distanceFunction, _) = $0 { true } else { false }
        }
        guard case .function(Self.distanceFunction, let arguments)? = function else { return nil }
        guard comparator == .less || comparator == .lessOrEqual else {
            throw QueryTranslator.refused("a distance can only be tested with <")
        }
        guard case .constant(let constant) = radius, let metres = constant.metres, metres.isFinite, metres >= 0 else {
            throw QueryTranslator.refused("the radius of a distance must be a constant number of metres")
        }
        guard let (name, location) = Self.placeArguments(arguments) else {
            throw QueryTranslator.refused("\(Self.distanceFunction) takes the name of a field and a location")
        }
        return QueryFilter(
            key: try QueryTranslator.key(name), comparator: .near,
            value: .location(try Self.place(location, key: name)), distance: metres)
    }

    private static func placeArguments(_ arguments: [PredicateExpression]) -> (String, CLLocation)? {
        guard arguments.count == 2 else { return nil }
        switch (arguments[0], arguments[1]) {
        case (.key(let name), .constant(.location(let location))): return (name, location)
        case (.constant(.location(let location)), .key(let name)): return (name, location)
        default: return nil
        }
    }

    static func place(_ location: CLLocation, key: String) throws(CKError) -> LocationValue {
        let place = location.coordinate
        guard place.latitude.isFinite, place.longitude.isFinite else {
            throw CKError.invalidArguments("The location for '\(key)' must have finite coordinates")
        }
        return LocationValue(latitude: place.latitude, longitude: place.longitude)
    }

    // MARK: Sides

    /// The two sides with the wanted one first, the operator turned round where they changed places; the first is nil
    /// where neither side is wanted.
    private func oriented(
        _ isFirst: (PredicateExpression) -> Bool
    ) -> (PredicateExpression?, PredicateComparator, PredicateExpression) {
        if isFirst(comparison.left) { return (comparison.left, comparison.comparator, comparison.right) }
        let turned: [PredicateComparator: PredicateComparator] = [
            .equal: .equal, .notEqual: .notEqual, .less: .greater, .lessOrEqual: .greaterOrEqual, .greater: .less,
            .greaterOrEqual: .lessOrEqual, .in: .contains, .contains: .in,
        ]
        if isFirst(comparison.right), let comparator = turned[comparison.comparator] {
            return (comparison.right, comparator, comparison.left)
        }
        return (nil, comparison.comparator, comparison.right)
    }

    private func sides() throws(CKError) -> (String, PredicateComparator, PredicateValue) {
        let (side, comparator, other) = oriented { if case .key = $0 { true } else { false } }
        guard case .key(let name)? = side else {
            throw QueryTranslator.refused("one side of a comparison must be the name of a field")
        }
        guard let value = try constant(other) else {
            throw QueryTranslator.refused("the other side of '\(name)' must be a constant")
        }
        return (name, comparator, value)
    }

    private func constant(_ side: PredicateExpression) throws(CKError) -> PredicateValue? {
        switch side {
        case .constant(let value): return value
        case .aggregate(let parts):
            var values: [PredicateValue] = []
            for part in parts {
                guard let value = try constant(part) else { return nil }
                values.append(value)
            }
            return .list(values)
        case .function(let name, let arguments):
            if name.lowercased() == "now", arguments.isEmpty { return .date(Date()) }
            throw QueryTranslator.refused("the function '\(name)' is not supported here")
        case .key, .itself, .variable, .other:
            return nil
        }
    }

    // MARK: Filters

    private func filters(
        _ key: QueryKey, named name: String, by comparator: PredicateComparator, with value: PredicateValue
    ) throws(CKError) -> [QueryFilter] {
        switch comparator {
        case .between:
            guard case .list(let bounds) = value, bounds.count == 2 else {
                throw QueryTranslator.refused("BETWEEN takes a list of two values")
            }
            return [
                QueryFilter(
                    key: key, comparator: .greaterThanOrEquals, value: try single(bounds[0], for: key, named: name)),
                QueryFilter(
                    key: key, comparator: .lessThanOrEquals, value: try single(bounds[1], for: key, named: name)),
            ]
        case .in:
            return [try membership(of: key, named: name, in: value)]
        case .contains:
            return [QueryFilter(key: key, comparator: .listContains, value: try member(value, of: key, named: name))]
        case .beginsWith:
            guard case .string(let text) = value else { throw QueryTranslator.refused("BEGINSWITH takes a string") }
            return [QueryFilter(key: key, comparator: .beginsWith, value: .string(text))]
        default:
            guard let plain = Self.plain[comparator] else {
                throw QueryTranslator.refused("\(comparator.rawValue) is not supported")
            }
            return [QueryFilter(key: key, comparator: plain, value: try single(value, for: key, named: name))]
        }
    }

    private static let plain: [PredicateComparator: QueryFilter.Comparator] = [
        .equal: .equals, .notEqual: .notEquals, .less: .lessThan, .lessOrEqual: .lessThanOrEquals,
        .greater: .greaterThan, .greaterOrEqual: .greaterThanOrEquals,
    ]

    /// `key IN values`, and with `ANY` a list field that holds one of them (B-QRY-04).
    private func membership(
        of key: QueryKey, named name: String, in value: PredicateValue
    ) throws(CKError) -> QueryFilter {
        guard case .list(let elements) = value else { throw QueryTranslator.refused("IN takes a list") }
        guard !elements.isEmpty else { return QueryTranslator.never }
        var values: [FieldValue] = []
        for element in elements { values.append(try single(element, for: key, named: name)) }
        return QueryFilter(
            key: key, comparator: comparison.modifier == .any ? .listContainsAny : .in,
            value: try FieldConverter.list(of: values, key: name))
    }

    private func member(_ value: PredicateValue, of key: QueryKey, named name: String) throws(CKError) -> FieldValue {
        if case .list = value {
            throw QueryTranslator.refused("CONTAINS takes a single value; use ANY \(name) IN for several")
        }
        return try single(value, for: key, named: name)
    }

    /// Returns the value for strings, dates, numbers and references (B-QRY-06), which record attributes are compared
    /// with.
    private func single(_ value: PredicateValue, for key: QueryKey, named name: String) throws(CKError) -> FieldValue {
        switch key {
        case .system(.recordName): return try recordName(value, name)
        case .system(.parent), .system(.share), .system(.createdUserRecordName), .system(.modifiedUserRecordName):
            return .reference(try reference(value, name))
        case .system(.createdTimestamp), .system(.modifiedTimestamp):
            guard case .date(let date) = value else {
                throw QueryTranslator.refused("'\(name)' is compared with a date")
            }
            return .timestamp(try FieldConverter.milliseconds(date, key: name))
        case .field, .anySearchable:
            return try fieldValue(value, name)
        }
    }

    private func recordName(_ value: PredicateValue, _ name: String) throws(CKError) -> FieldValue {
        if case .string(let text) = value { return .string(text) }
        let reference = try reference(value, name)
        return reference.zoneID == nil ? .string(reference.recordName) : .reference(reference)
    }

    private func reference(_ value: PredicateValue, _ name: String) throws(CKError) -> ReferenceValue {
        switch value {
        case .string(let text): ReferenceValue(recordName: text)
        case .recordID(let id): CKReference(recordID: id, action: .none).model(in: zoneID ?? id.zoneID)
        // The action does not count (B-REF-10).
        case .reference(let reference):
            CKReference(recordID: reference.recordID, action: .none).model(in: zoneID ?? reference.recordID.zoneID)
        default: throw QueryTranslator.refused("'\(name)' is compared with a record ID or a reference")
        }
    }

    private func fieldValue(_ value: PredicateValue, _ name: String) throws(CKError) -> FieldValue {
        switch value {
        case .string(let text): return .string(text)
        case .bool(let flag): return .int64(flag ? 1 : 0)
        case .int(let number): return .int64(number)
        case .double(let number):
            guard number.isFinite else { throw QueryTranslator.refused("the number for '\(name)' must be finite") }
            return .double(number)
        case .unsigned:
            throw QueryTranslator.refused("the number for '\(name)' does not fit into a signed 64-bit integer")
        case .date(let date): return .timestamp(try FieldConverter.milliseconds(date, key: name))
        case .recordID, .reference: return .reference(try reference(value, name))
        case .null:
            throw QueryTranslator.refused("'\(name)' cannot be compared with nil")
        case .data: throw QueryTranslator.refused("fields of data cannot be searched: '\(name)'")
        case .location:
            throw QueryTranslator.refused("'\(name)' can only be searched by distanceToLocation:fromLocation:")
        case .list: throw QueryTranslator.refused("'\(name)' cannot be compared with a list here; use IN")
        case .unsupported(let type): throw QueryTranslator.refused("'\(name)' cannot be compared with a \(type)")
        }
    }
}

extension PredicateValue {
    /// A number of metres.
    fileprivate var metres: Double? {
        switch self {
        case .int(let number): Double(number)
        case .double(let number): number
        default: nil
        }
    }
}
