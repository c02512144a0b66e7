import CloudKitModel
import OrderedStore

extension WriteTransaction {
    /// Removes the entries of a field in one zone that only other marks than some need: before an index is built, and when
    /// the field loses marks.
    ///
    /// Entries left from an earlier index of the field would name records by values they no longer have. Queries go on using
    /// the marks that are kept.
    package mutating func clearIndexes(
        of field: String, keeping marks: IndexMarks, recordType: String, zone: UInt32
    ) {
        let zonePrefix = IndexKey.zonePrefix(zone)
        func prefix(_ kind: IndexKey.Kind) -> KeyBuilder {
            IndexKey.prefix(kind, of: field, recordType: recordType, under: zonePrefix)
        }
        if marks.isDisjoint(with: [.queryable, .sortable]) {
            for kind in [IndexKey.Kind.ordered, .member, .cell] { clear(KeyRange(prefix: prefix(kind).bytes)) }
        } else if !marks.contains(.sortable) {
            // Records without a value have an entry for the sake of the order alone.
            var absent = prefix(.ordered)
            absent.appendNull()
            clear(KeyRange(prefix: absent.bytes))
        }
        if !marks.contains(.searchable) { clear(KeyRange(prefix: prefix(.token).bytes)) }
    }

    /// Adds the entries of some fields for the next records of a type: one step of building an index (B-SCH-07).
    ///
    /// Saves must already keep the index up to date when the first step is taken; steps may repeat and may run between
    /// saves. Steps of one zone follow one another until one returns nil; then the index covers the zone.
    ///
    /// - Parameters:
    ///   - fields: With the marks they are to have.
    ///   - name: Where the step before ended; nil: at the beginning.
    ///   - limit: Records of one step.
    /// - Returns: The name to go on after; nil when nothing is left.
    package mutating func buildIndexes(
        of fields: [IndexedField], recordType: String, zone: UInt32, after name: String?, limit: Int = 200
    ) async throws -> String? {
        let zonePrefix = IndexKey.zonePrefix(zone)
        let names = try await recordNames(ofType: recordType, zone: zone, after: name, limit: limit)
        for case let record? in try await records(zone: zone, names: names) where record.recordType == recordType {
            let values = try IndexedValues(record, names: Set(fields.map(\.name)))
            for field in fields {
                for entry in try IndexEntries.entries(of: record, field, values, under: zonePrefix) { set(entry, []) }
            }
        }
        return names.count < limit ? nil : names.last
    }
}

extension Reading {
    /// Returns the names of some records of a type, in their order.
    ///
    /// - Parameter name: Begin after this name; nil: with the first.
    package func recordNames(
        ofType recordType: String, zone: UInt32, after name: String? = nil, limit: Int
    ) async throws -> [String] {
        let prefix = IndexKey.zonePrefix(zone) + IndexKey.prefix(.extent, of: "", recordType: recordType).bytes
        var range = KeyRange(prefix: prefix)
        if let name {
            var lower = KeyBuilder(prefix: prefix)
            lower.append(name)
            range.lower = lower.bytes + [0]
        }
        return try await scan(range, limit: limit, reverse: false).map { entry in
            try IndexKey.read(entry.key, after: prefix.count, kind: .extent).recordName
        }
    }
}
