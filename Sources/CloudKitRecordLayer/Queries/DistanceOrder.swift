import OrderedStore

/// Names records by their distance from a place: ring after ring, each four times as wide as the one before, so that
/// near records are found without reading far ones; at last those without a location.
struct DistanceOrder {
    private let center: Place
    private let zone: UInt32
    private let recordType: String
    private let field: IndexedField
    /// The last ring ends here, in metres.
    private let farthest: Double
    private let wantsMissing: Bool
    private var outer: Double
    /// The last record that was named; only records after it are named again.
    private var floor: (distance: Double, recordName: String)?
    private var missing: IndexWalk?

    private static let innermost = 250.0
    /// Candidates kept at once; a fuller ring is read again from where they ended.
    private static let candidatesMax = 4096

    init(_ plan: QueryPlan, by term: QuerySortTerm, around center: Place, zone: UInt32, from start: SortPosition?) {
        self.center = center
        self.zone = zone
        recordType = plan.recordType
        field = term.field
        let bound = Self.bound(of: plan, by: term, around: center)
        farthest = bound ?? Place.farthest
        wantsMissing = bound == nil
        outer = min(Self.innermost, farthest)
        guard let start else { return }
        if start.values[0] == QuerySortTerm.noDistance {
            beginMissing()
        } else if let distance = Self.distance(start.values[0]) {
            // From the distance itself on, so that records at the same distance are weighed against the position.
            floor = (distance.nextDown, "")
            while outer <= distance, outer < farthest { widen() }
        }
    }

    /// A circle around the same center ends the search; records without a location are then not wanted either.
    private static func bound(of plan: QueryPlan, by term: QuerySortTerm, around center: Place) -> Double? {
        for condition in plan.conditions where !condition.isNegated && condition.fields == [term.field] {
            if case .isNear(center, let distance) = condition.test { return min(distance, Place.farthest) }
        }
        return nil
    }

    private static func distance(_ bytes: Bytes) -> Double? {
        var reader = KeyReader(bytes)
        return try? reader.readDouble()
    }

    private mutating func widen() { outer = min(outer * 4, farthest) }

    private mutating func beginMissing() {
        var key = IndexKey.prefix(.ordered, of: field.name, recordType: recordType)
        let prefixCount = key.bytes.count
        key.appendNull()
        let part = IndexScan.Part(range: key.range, prefixCount: prefixCount)
        missing = IndexWalk(IndexScan(.ordered, [field], rank: .extent, parts: wantsMissing ? [part] : []), zone: zone)
    }

    mutating func next(in view: ReadTransaction, _ entriesRead: inout Int) async throws -> [SortedSource.Candidate] {
        while missing == nil {
            let found = try await ring(in: view, &entriesRead)
            if let last = found.last { floor = last }
            if found.count < Self.candidatesMax {
                if outer >= farthest { beginMissing() } else { widen() }
            }
            if !found.isEmpty {
                return found.map {
                    .init(value: QuerySortTerm.bytes(ofDistance: $0.distance), recordName: $0.recordName)
                }
            }
        }
        let steps = try await missing?.next(QueryBudget.scanSize, in: view) ?? []
        entriesRead += steps.count
        return steps.map { .init(value: QuerySortTerm.noDistance, recordName: $0.hit.recordName) }
    }

    /// Returns the nearest records beyond `floor` and within the ring, in order.
    private func ring(
        in view: ReadTransaction, _ entriesRead: inout Int
    ) async throws -> [(distance: Double, recordName: String)] {
        let parts = GridCode.ranges(around: center, within: outer).map { codes in
            let prefix = IndexKey.prefix(.cell, of: field.name, recordType: recordType)
            var lower = prefix
            lower.append(codes.lowerBound)
            var upper = prefix
            upper.append(codes.upperBound)
            return IndexScan.Part(
                range: KeyRange(lower: lower.bytes, upper: upper.bytes), prefixCount: prefix.bytes.count)
        }
        var walk = IndexWalk(IndexScan(.cell, [field], rank: .near, parts: parts), zone: zone)
        var found: [(distance: Double, recordName: String)] = []
        while true {
            let steps = try await walk.next(1000, in: view)
            if steps.isEmpty { break }
            entriesRead += steps.count
            for step in steps {
                guard let distance = step.hit.place?.distance(to: center), distance < outer else { continue }
                let candidate = (distance: distance, recordName: step.hit.recordName)
                if let floor, !Self.precedes(floor, candidate) { continue }
                found.append(candidate)
            }
            if found.count >= 2 * Self.candidatesMax { Self.cut(&found) }
        }
        Self.cut(&found)
        return found
    }

    private static func cut(_ found: inout [(distance: Double, recordName: String)]) {
        found.sort(by: precedes)
        if found.count > candidatesMax { found.removeSubrange(candidatesMax...) }
    }

    private static func precedes(
        _ left: (distance: Double, recordName: String), _ right: (distance: Double, recordName: String)
    ) -> Bool {
        if left.distance != right.distance { return left.distance < right.distance }
        return left.recordName.utf8.lexicographicallyPrecedes(right.recordName.utf8)
    }
}
