import CloudKitModel
import OrderedStore

/// One valid filter of a query, prepared for checking many records.
struct QueryCondition: Hashable, Sendable {
    enum Bound: Hashable, Sendable {
        case less, lessOrEqual, greater, greaterOrEqual
    }

    enum Test: Hashable, Sendable {
        /// `FALSEPREDICATE`.
        case never
        case equals(FieldValue)
        case isIn([FieldValue])
        case compares(Bound, FieldValue)
        /// With case (B-QRY-07).
        case beginsWith(String)
        case isNear(Place, distance: Double)
        /// Words, without stop words.
        case hasWords(Set<String>, all: Bool)
        case contains([FieldValue], all: Bool)
        case memberBeginsWith(String)
    }

    /// One field; all searchable ones for a search that names none (B-QRY-08).
    let fields: [IndexedField]
    let test: Test
    /// Negated conditions hold for records without the field, as they do in a predicate.
    let isNegated: Bool
    private let comparisonKeys: Set<ComparisonKey>
    private let texts: Bytes

    init(_ fields: [IndexedField], _ test: Test, isNegated: Bool) {
        self.fields = fields
        self.test = test
        self.isNegated = isNegated
        var values: [FieldValue] = []
        var texts: Bytes = []
        switch test {
        case .equals(let value), .compares(_, let value): values = [value]
        case .isIn(let list), .contains(let list, _): values = list
        case .beginsWith(let text), .memberBeginsWith(let text): texts = FoldedText.decomposed(text)
        case .never, .isNear, .hasWords: break
        }
        comparisonKeys = Set(values.compactMap { ComparisonKey($0) })
        self.texts = texts
    }

    /// Whether a record satisfies the condition.
    ///
    /// - Throws: `internalError` if a stored field was damaged.
    func holds(for values: IndexedValues) throws -> Bool {
        try isMet(by: values) != isNegated
    }

    private func isMet(by values: IndexedValues) throws -> Bool {
        switch test {
        case .never: return false
        case .hasWords(let wanted, let all): return try hasWords(values, wanted, all: all)
        case .contains(_, let all): return contains(try elements(values), all)
        case .memberBeginsWith: return try elements(values).contains { hasPrefix($0) }
        case .equals, .isIn, .compares, .beginsWith, .isNear:
            guard let value = try values.value(of: fields[0]) else { return false }
            return isMet(by: value)
        }
    }

    private func isMet(by value: FieldValue) -> Bool {
        switch test {
        case .equals, .isIn: isKnown(value)
        case .compares(let bound, _): compares(value, bound)
        case .beginsWith: hasPrefix(value)
        case .isNear(let center, let distance):
            if case .location(let location) = value { Place(location).distance(to: center) < distance } else { false }
        case .never, .hasWords, .contains, .memberBeginsWith: false
        }
    }

    private func isKnown(_ value: FieldValue) -> Bool {
        ComparisonKey(value).map { comparisonKeys.contains($0) } ?? false
    }

    private func compares(_ value: FieldValue, _ bound: Bound) -> Bool {
        guard let limit = comparisonKeys.first, let value = ComparisonKey(value) else {
            return false
        }
        return switch bound {
        case .less: value.precedes(limit)
        case .lessOrEqual: !limit.precedes(value)
        case .greater: limit.precedes(value)
        case .greaterOrEqual: !value.precedes(limit)
        }
    }

    private func hasPrefix(_ value: FieldValue) -> Bool {
        if case .string(let text) = value { FoldedText.decomposed(text).starts(with: texts) } else { false }
    }

    private func elements(_ values: IndexedValues) throws -> [FieldValue] {
        if case .list(_, let elements) = try values.value(of: fields[0]) { elements } else { [] }
    }

    private func contains(_ elements: [FieldValue], _ all: Bool) -> Bool {
        if !all { return elements.contains { isKnown($0) } }
        return comparisonKeys.isSubset(of: elements.compactMap { ComparisonKey($0) })
    }

    private func hasWords(_ values: IndexedValues, _ wanted: Set<String>, all: Bool) throws -> Bool {
        if wanted.isEmpty { return false }
        var words: Set<String> = []
        for field in fields {
            if let value = try values.value(of: field) { words.formUnion(value.words) }
        }
        return all ? wanted.isSubset(of: words) : !wanted.isDisjoint(with: words)
    }
}
