import OrderedStore

/// Goes through the parts of a scan in one zone, in key order.
struct IndexWalk {
    struct Step {
        /// The key without its zone.
        var entry: Bytes
        var hit: IndexHit
    }

    private let scan: IndexScan
    private let zonePrefix: Bytes
    /// The parts still to be read, the first perhaps from its middle.
    private var parts: ArraySlice<IndexScan.Part>

    init(_ scan: IndexScan, zone: UInt32, after entry: Bytes? = nil) {
        self.scan = scan
        zonePrefix = IndexKey.zonePrefix(zone)
        parts = scan.parts[...]
        if let entry { skip(to: entry + [0]) }
    }

    private mutating func skip(to lower: Bytes) {
        while let part = parts.first, !lower.lexicographicallyPrecedes(part.range.upper) { parts.removeFirst() }
        if let part = parts.first, part.range.lower.lexicographicallyPrecedes(lower) {
            parts[parts.startIndex].range.lower = lower
        }
    }

    /// Returns the next entries, at least one unless there are none left; those outside a circle are skipped.
    mutating func next(_ limit: Int, in view: ReadTransaction) async throws -> [Step] {
        while let part = parts.first {
            let range = KeyRange(lower: zonePrefix + part.range.lower, upper: zonePrefix + part.range.upper)
            let entries = try await view.scan(range, limit: limit, reverse: false)
            if entries.count < limit {
                parts.removeFirst()
            } else if let last = entries.last {
                parts[parts.startIndex].range.lower = last.key.dropFirst(zonePrefix.count) + [0]
            }
            let steps = try entries.compactMap { try step($0.key, part) }
            if !steps.isEmpty { return steps }
        }
        return []
    }

    private func step(_ key: Bytes, _ part: IndexScan.Part) throws -> Step? {
        let hit = try IndexKey.read(key, after: zonePrefix.count + part.prefixCount, kind: scan.kind)
        if let circle = scan.circle, let place = hit.place, place.distance(to: circle.center) >= circle.distance {
            return nil
        }
        return Step(entry: Bytes(key.dropFirst(zonePrefix.count)), hit: hit)
    }
}
