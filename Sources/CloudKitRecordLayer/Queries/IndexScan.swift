import CloudKitModel
import OrderedStore

/// Ranges of one kind of index that together hold at least the records a condition asks for.
struct IndexScan: Hashable, Sendable {
    /// A range of entries, and how many of their bytes stand before the value.
    struct Part: Hashable, Sendable {
        var range: KeyRange
        var prefixCount: Int
    }

    /// An estimate of the records that a scan finds; less is better.
    enum Rank: Int, Comparable, Hashable, Sendable {
        case nothing, equality, oneOfMany, member, prefix, range, near, extent

        static func < (left: Rank, right: Rank) -> Bool { left.rawValue < right.rawValue }
    }

    var kind: IndexKey.Kind
    var fields: [IndexedField]
    var rank: Rank
    /// In key order, none overlapping.
    var parts: [Part]
    /// Whether a record may have several entries within the parts.
    var mayRepeat = false
    /// Cells outside are skipped before their records are read.
    var circle: Circle?

    struct Circle: Hashable, Sendable {
        var center: Place
        var distance: Double
    }

    init(_ kind: IndexKey.Kind, _ fields: [IndexedField], rank: Rank, parts: [Part]) {
        self.kind = kind
        self.fields = fields
        self.rank = rank
        self.parts = Self.ordered(parts)
    }

    private static func ordered(_ parts: [Part]) -> [Part] {
        var ordered: [Part] = []
        for part in parts.sorted(by: { $0.range.lower.lexicographicallyPrecedes($1.range.lower) }) {
            if part.range.isEmpty { continue }
            // Parts hold one value each, so those that overlap are equal or one contains the other.
            if let last = ordered.last, part.range.lower.lexicographicallyPrecedes(last.range.upper) { continue }
            ordered.append(part)
        }
        return ordered
    }

    /// All records of a type.
    static func extent(_ recordType: String) -> IndexScan {
        let prefix = IndexKey.prefix(.extent, of: "", recordType: recordType).bytes
        return IndexScan(
            .extent, [], rank: .extent, parts: [Part(range: KeyRange(prefix: prefix), prefixCount: prefix.count)])
    }

    static let nothing = IndexScan(.extent, [], rank: .nothing, parts: [])

    /// Creates the scan for a condition; nil for one that has to be checked on each record.
    init?(_ condition: QueryCondition, recordType: String) {
        if case .never = condition.test {
            self = .nothing
            return
        }
        if condition.isNegated { return nil }
        let field = condition.fields[0]
        switch condition.test {
        case .never: return nil
        case .equals(let value): self.init(field, recordType, equalTo: [value], rank: .equality)
        case .isIn(let values): self.init(field, recordType, equalTo: values, rank: .oneOfMany)
        case .compares(let bound, let value): self.init(field, recordType, bound: bound, value)
        case .beginsWith(let text): self.init(field, recordType, kind: .ordered, beginningWith: text)
        case .memberBeginsWith(let text):
            self.init(field, recordType, kind: .member, beginningWith: text)
            mayRepeat = true
        case .isNear(let center, let distance):
            self.init(field, recordType, cells: GridCode.ranges(around: center, within: distance), rank: .near)
            circle = Circle(center: center, distance: distance)
        case .contains(let values, let all):
            guard let first = values.first else {
                if all { return nil }
                self = .nothing
                return
            }
            self.init(field, recordType, members: all ? [first] : values)
        case .hasWords(let words, let all):
            guard let longest = words.max(by: { ($0.utf8.count, $0) < ($1.utf8.count, $1) }) else {
                self = .nothing
                return
            }
            self.init(condition.fields, recordType, words: all ? [longest] : words)
        }
    }

    private init(_ field: IndexedField, _ recordType: String, equalTo values: [FieldValue], rank: Rank) {
        if field.type.base == .location {
            let codes = values.compactMap { value -> Range<Int64>? in
                guard case .location(let location) = value else { return nil }
                let code = GridCode.code(of: Place(location))
                return code..<(code + 1)
            }
            self.init(field, recordType, cells: codes, rank: rank)
            return
        }
        let isName = field.systemField == .recordName
        let prefix = IndexKey.prefix(isName ? .extent : .ordered, of: field.name, recordType: recordType)
        self.init(
            isName ? .extent : .ordered, [field], rank: rank,
            parts: values.map { Self.part(prefix, $0, isWholeKey: isName) })
    }

    private init(_ field: IndexedField, _ recordType: String, members: [FieldValue]) {
        let prefix = IndexKey.prefix(.member, of: field.name, recordType: recordType)
        self.init(.member, [field], rank: .member, parts: members.map { Self.part(prefix, $0, isWholeKey: false) })
        mayRepeat = parts.count > 1
    }

    private init(_ fields: [IndexedField], _ recordType: String, words: Set<String>) {
        var parts: [Part] = []
        for field in fields {
            let prefix = IndexKey.prefix(.token, of: field.name, recordType: recordType)
            for word in words {
                var key = prefix
                key.append(TextTokens.indexed(word))
                parts.append(Part(range: key.range, prefixCount: prefix.bytes.count))
            }
        }
        self.init(.token, fields, rank: .member, parts: parts)
        mayRepeat = parts.count > 1
    }

    private init(_ field: IndexedField, _ recordType: String, cells codes: [Range<Int64>], rank: Rank) {
        let prefix = IndexKey.prefix(.cell, of: field.name, recordType: recordType)
        let parts = codes.map { codes in
            var lower = prefix
            lower.append(codes.lowerBound)
            var upper = prefix
            upper.append(codes.upperBound)
            return Part(
                range: KeyRange(lower: lower.bytes, upper: upper.bytes), prefixCount: prefix.bytes.count)
        }
        self.init(.cell, [field], rank: rank, parts: parts)
    }

    private init(
        _ field: IndexedField, _ recordType: String, kind: IndexKey.Kind, beginningWith text: String
    ) {
        let prefix = IndexKey.prefix(kind, of: field.name, recordType: recordType)
        var start = prefix
        start.appendStart(of: FoldedText.indexed(text).text)
        self.init(kind, [field], rank: .prefix, parts: [Part(range: start.range, prefixCount: prefix.bytes.count)])
    }

    private init(_ field: IndexedField, _ recordType: String, bound: QueryCondition.Bound, _ value: FieldValue) {
        let prefix = IndexKey.prefix(.ordered, of: field.name, recordType: recordType)
        var key = prefix
        key.appendIndexed(value)
        let equal = key.range
        var range = prefix.range
        // Above null, which no bound lets in.
        range.lower = prefix.bytes + [1]
        // A text that was cut shares its entry with smaller and larger ones.
        var isWhole = true
        if case .string(let text) = value { isWhole = FoldedText.indexed(text).isWhole }
        switch bound {
        case .less: range.upper = isWhole ? equal.lower : equal.upper
        case .lessOrEqual: range.upper = equal.upper
        case .greater: range.lower = isWhole ? equal.upper : equal.lower
        case .greaterOrEqual: range.lower = equal.lower
        }
        self.init(.ordered, [field], rank: .range, parts: [Part(range: range, prefixCount: prefix.bytes.count)])
    }

    private static func part(_ prefix: KeyBuilder, _ value: FieldValue, isWholeKey: Bool) -> Part {
        var key = prefix
        key.appendIndexed(value)
        let range = isWholeKey ? KeyRange(lower: key.bytes, upper: key.bytes + [0]) : key.range
        return Part(range: range, prefixCount: prefix.bytes.count)
    }

    /// Returns the range that both scans share, if they are single ranges of the same ordered index; nil otherwise.
    func intersection(_ other: IndexScan) -> IndexScan? {
        guard kind == .ordered, other.kind == .ordered, fields == other.fields else { return nil }
        if parts.isEmpty || other.parts.isEmpty { return .nothing }
        guard parts.count == 1, other.parts.count == 1 else { return nil }
        var part = parts[0]
        let range = other.parts[0].range
        if part.range.lower.lexicographicallyPrecedes(range.lower) { part.range.lower = range.lower }
        if range.upper.lexicographicallyPrecedes(part.range.upper) { part.range.upper = range.upper }
        return IndexScan(.ordered, fields, rank: min(rank, other.rank), parts: [part])
    }

    /// Whether `entry` is the one by which its record is found: the first of its entries within the parts. It needs no
    /// memory of the records already found, so that it holds across pages.
    func isFirst(_ entry: Bytes, of record: StoredRecord) throws -> Bool {
        if !mayRepeat { return true }
        let values = try IndexedValues(record, names: Set(fields.map(\.name)))
        for field in fields {
            for other in try IndexEntries.entries(of: record, field, values)
            where other.lexicographicallyPrecedes(entry) && parts.contains(where: { $0.range.contains(other) }) {
                return false
            }
        }
        return true
    }
}
