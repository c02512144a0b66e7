import CloudKitModel
import CloudKitRecordLayer
import Foundation

/// The meaning of a query, implemented a second time without indexes, folding tables or cells, to compare results with.
struct NaiveQuery {
    var filters: [QueryFilter]
    var sorts: [QuerySort]

    /// Returns `zone/name` of the results; in order if the query has one.
    func answer(_ songs: [Song]) -> [String] {
        var found = songs.filter { song in filters.allSatisfy { Self.holds($0, song) } }
        if !sorts.isEmpty { found.sort(by: precedes) }
        return found.map { "\($0.zone)/\($0.name)" }
    }

    private func precedes(_ left: Song, _ right: Song) -> Bool {
        for sort in sorts {
            let (one, other) = (Self.rank(sort, left), Self.rank(sort, right))
            if one < other { return sort.ascending }
            if other < one { return !sort.ascending }
        }
        if left.name != right.name { return (left.name < right.name) == sorts[0].ascending }
        return left.zone < right.zone
    }

    private enum Rank: Comparable {
        case none
        case number(Double)
        case text([UInt8])

        static func < (left: Rank, right: Rank) -> Bool {
            switch (left, right) {
            case (.none, .none): false
            case (.none, _): true
            case (.number(let left), .number(let right)): left < right
            case (.text(let left), .text(let right)): left.lexicographicallyPrecedes(right)
            default: false
            }
        }
    }

    private static func rank(_ sort: QuerySort, _ song: Song) -> Rank {
        let value = song.value(sort.key)
        if let center = sort.relativeLocation {
            guard case .location(let location) = value else { return .number(.infinity) }
            return .number(distance(location, center))
        }
        switch value {
        case nil: return .none
        case .int64(let number), .timestamp(let number): return .number(Double(number))
        case .double(let number): return .number(number)
        // Longer texts are ordered by their beginning.
        case .string(let text): return .text(Array(lower(text).utf8.prefix(256)))
        default: return .none
        }
    }

    static func distance(_ one: LocationValue, _ other: LocationValue) -> Double {
        func radians(_ degrees: Double) -> Double { degrees * .pi / 180 }
        let (a, b) = (radians(one.latitude), radians(other.latitude))
        let h = pow(sin((b - a) / 2), 2) + cos(a) * cos(b) * pow(sin(radians(other.longitude - one.longitude) / 2), 2)
        return 2 * 6_371_008.8 * asin(min(1, h.squareRoot()))
    }

    private static func lower(_ text: String) -> String {
        text.lowercased().decomposedStringWithCanonicalMapping
    }

    private static func same(_ left: FieldValue, _ right: FieldValue) -> Bool {
        switch (left, right) {
        case (.string(let left), .string(let right)): lower(left) == lower(right)
        case (.reference(let left), .reference(let right)): left.recordName == right.recordName
        case (.location(let left), .location(let right)):
            left.latitude == right.latitude && left.longitude == right.longitude
        default: left == right
        }
    }

    private static func less(_ left: FieldValue, _ right: FieldValue) -> Bool {
        switch (left, right) {
        case (.string(let left), .string(let right)):
            Array(lower(left).utf8).lexicographicallyPrecedes(Array(lower(right).utf8))
        case (.int64(let left), .int64(let right)), (.timestamp(let left), .timestamp(let right)): left < right
        case (.double(let left), .double(let right)): left < right
        default: false
        }
    }

    private static func list(_ value: FieldValue?) -> [FieldValue] {
        if case .list(_, let values) = value { values } else { [] }
    }

    private static func words(_ value: FieldValue?) -> Set<String> {
        switch value {
        case .string(let text):
            let folded = text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
            let words = folded.split { !$0.isLetter && !$0.isNumber }.map(String.init)
            return Set(words).subtracting(["the", "of", "a", "and", "in"])
        case .list(_, let values): return values.reduce(into: []) { $0.formUnion(words($1)) }
        default: return []
        }
    }

    static func holds(_ filter: QueryFilter, _ song: Song) -> Bool {
        let value = song.value(filter.key)
        func hasPrefix(_ value: FieldValue?) -> Bool {
            guard case .string(let text) = value, case .string(let prefix) = filter.value else { return false }
            return text.hasPrefix(prefix)
        }
        func contains(_ wanted: FieldValue) -> Bool { list(value).contains { same($0, wanted) } }
        func hasWords(all: Bool) -> Bool {
            let wanted = words(filter.value)
            var own = words(value)
            if filter.key == .anySearchable {
                for name in ["title", "lyrics", "tags"] { own.formUnion(words(song.values[name])) }
            }
            if wanted.isEmpty { return false }
            return all ? wanted.isSubset(of: own) : !wanted.isDisjoint(with: own)
        }
        switch filter.comparator {
        case .equals: return value.map { same($0, filter.value) } ?? false
        case .notEquals: return !(value.map { same($0, filter.value) } ?? false)
        case .in: return value.map { value in list(filter.value).contains { same($0, value) } } ?? false
        case .notIn: return !(value.map { value in list(filter.value).contains { same($0, value) } } ?? false)
        case .lessThan: return value.map { less($0, filter.value) } ?? false
        case .lessThanOrEquals: return value.map { !less(filter.value, $0) } ?? false
        case .greaterThan: return value.map { less(filter.value, $0) } ?? false
        case .greaterThanOrEquals: return value.map { !less($0, filter.value) } ?? false
        case .near:
            guard case .location(let own) = value, case .location(let center) = filter.value else { return false }
            return distance(own, center) < filter.distance ?? 0
        case .beginsWith: return hasPrefix(value)
        case .notBeginsWith: return !hasPrefix(value)
        case .listContains: return contains(filter.value)
        case .notListContains: return !contains(filter.value)
        case .listContainsAll: return list(filter.value).allSatisfy(contains)
        case .notListContainsAll: return !list(filter.value).allSatisfy(contains)
        case .listContainsAny: return list(filter.value).contains(where: contains)
        case .notListContainsAny: return !list(filter.value).contains(where: contains)
        case .listMemberBeginsWith: return list(value).contains(where: hasPrefix)
        case .notListMemberBeginsWith: return !list(value).contains(where: hasPrefix)
        case .containsAllTokens: return hasWords(all: true)
        case .containsAnyTokens: return hasWords(all: false)
        case .never: return false
        }
    }
}
