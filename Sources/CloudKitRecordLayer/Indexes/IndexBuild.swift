import CloudKitModel
import OrderedStore

extension WriteTransaction {
    /// Removes every entry of a field in one zone: before its index is built, and when the field loses its marks.
    ///
    /// Entries left from an earlier index of the field would name records by values they no longer have.
    package mutating func clearIndexes(of field: String, recordType: String, zone: UInt32) {
        let zonePrefix = IndexKey.zonePrefix(zone)
        for kind in IndexKey.Kind.allCases where kind != .extent {
            clear(KeyRange(prefix: zonePrefix + IndexKey.prefix(kind, of: field, recordType: recordType).bytes))
        }
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
        let prefix = zonePrefix + IndexKey.prefix(.extent, of: "", recordType: recordType).bytes
        var range = KeyRange(prefix: prefix)
        if let name {
            var lower = KeyBuilder(prefix: prefix)
            lower.append(name)
            range.lower = lower.bytes + [0]
        }
        let names = try await scan(range, limit: limit, reverse: false).map { entry in
            try IndexKey.read(entry.key, after: prefix.count, kind: .extent).recordName
        }
        for case let record? in try await records(zone: zone, names: names) where record.recordType == recordType {
            let values = try IndexedValues(record, names: Set(fields.map(\.name)))
            for field in fields {
                for entry in try IndexEntries.entries(of: record, field, values, under: zonePrefix) { set(entry, []) }
            }
        }
        return names.count < limit ? nil : names.last
    }
}
