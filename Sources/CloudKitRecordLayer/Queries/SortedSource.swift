import OrderedStore

/// Names the records of one zone in the order of a query's first key.
struct SortedSource {
    struct Candidate: Hashable, Sendable {
        /// As `QuerySortTerm.bytes(of:)`.
        var value: Bytes
        var recordName: String
    }

    private enum Way {
        case values(ValueOrder)
        case distances(DistanceOrder)
    }

    private var way: Way

    /// - Parameter isGrouped: Whether later keys order the records with one value: all of them are then named again from
    ///   the value of `start` on.
    init(_ plan: QueryPlan, _ term: QuerySortTerm, zone: UInt32, after start: SortPosition?, isGrouped: Bool) {
        if let center = term.center {
            way = .distances(DistanceOrder(plan, by: term, around: center, zone: zone, from: start))
        } else {
            way = .values(ValueOrder(plan, term, zone: zone, from: start, isGrouped: isGrouped))
        }
    }

    /// The next candidates; none when there are none left.
    mutating func next(in view: ReadTransaction, _ entriesRead: inout Int) async throws -> [Candidate] {
        let candidates: [Candidate]
        switch way {
        case .values(var order):
            candidates = try await order.next(in: view, &entriesRead)
            way = .values(order)
        case .distances(var order):
            candidates = try await order.next(in: view, &entriesRead)
            way = .distances(order)
        }
        return candidates
    }
}

/// Reads the ordered index of a field in either direction.
struct ValueOrder {
    private let isAscending: Bool
    private let prefixCount: Int
    private var range: KeyRange

    init(_ plan: QueryPlan, _ term: QuerySortTerm, zone: UInt32, from start: SortPosition?, isGrouped: Bool) {
        let zonePrefix = IndexKey.zonePrefix(zone)
        let prefix = IndexKey.prefix(.ordered, of: term.field.name, recordType: plan.recordType)
        isAscending = term.isAscending
        prefixCount = zonePrefix.count + prefix.bytes.count
        range = Self.range(of: plan, by: term, under: prefix)
        range = KeyRange(lower: zonePrefix + range.lower, upper: zonePrefix + range.upper)
        if let start { begin(at: start, zonePrefix + prefix.bytes, isGrouped: isGrouped) }
    }

    /// The whole index, or the part of it that the conditions on the same field allow.
    private static func range(of plan: QueryPlan, by term: QuerySortTerm, under prefix: KeyBuilder) -> KeyRange {
        let scans = QueryPlan.scans(plan.conditions, recordType: plan.recordType)
        let scan = scans.first { $0.kind == .ordered && $0.fields == [term.field] && $0.parts.count == 1 }
        return scan?.parts.first?.range ?? prefix.range
    }

    private mutating func begin(at start: SortPosition, _ prefix: Bytes, isGrouped: Bool) {
        var key = prefix + start.values[0]
        let group = KeyRange(prefix: key)
        if start.isGroupEnd {
            if isAscending { raise(to: group.upper) } else { lower(to: group.lower) }
        } else if isGrouped {
            if isAscending { raise(to: group.lower) } else { lower(to: group.upper) }
        } else {
            // The record of the position itself is named again: another zone may have one that stands equal.
            var name = KeyBuilder(prefix: key)
            name.append(start.recordName)
            key = name.bytes
            if isAscending { raise(to: key) } else { lower(to: key + [0]) }
        }
    }

    private mutating func raise(to bound: Bytes) {
        if range.lower.lexicographicallyPrecedes(bound) { range.lower = bound }
    }

    private mutating func lower(to bound: Bytes) {
        if bound.lexicographicallyPrecedes(range.upper) { range.upper = bound }
    }

    mutating func next(in view: ReadTransaction, _ entriesRead: inout Int) async throws -> [SortedSource.Candidate] {
        let entries = try await view.scan(range, limit: QueryBudget.scanSize, reverse: !isAscending)
        entriesRead += entries.count
        if let last = entries.last {
            if isAscending { range.lower = last.key + [0] } else { range.upper = last.key }
        }
        return try entries.map { entry in
            let hit = try IndexKey.read(entry.key, after: prefixCount, kind: .ordered)
            return SortedSource.Candidate(value: hit.value, recordName: hit.recordName)
        }
    }
}
