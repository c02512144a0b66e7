import CloudKitModel
import OrderedStore
import Synchronization

/// The names of damaged records that reads of a transaction met.
package final class DamagedRecords: Sendable {
    private let held = Mutex<Set<String>>([])

    /// Creates an empty set.
    package init() {}

    /// The names of the records.
    package var names: Set<String> { held.withLock { $0 } }

    func add(_ name: String) { held.withLock { _ = $0.insert(name) } }

    /// Decodes the values of records; damaged ones are nil and added.
    fileprivate func decode<Item>(
        _ values: [Bytes?], of names: [String], _ body: (String, Bytes, inout CommonTexts) throws -> Item
    ) rethrows -> [Item?] {
        var items: [Item?] = []
        items.reserveCapacity(names.count)
        var texts = CommonTexts()
        for (name, value) in zip(names, values) {
            do {
                items.append(try value.map { try body(name, $0, &texts) })
            } catch is DamagedValue {
                add(name)
                items.append(nil)
            }
        }
        return items
    }
}

extension Reading {
    /// The records under `names`, tombstones included, in the order asked for; damaged ones are nil and added to `damaged`.
    package func records(
        zone: UInt32, names: [String], damaged: DamagedRecords
    ) async throws -> [StoredRecord?] {
        try await storedRecords(zone: zone, names: names, damaged: damaged).records
    }

    /// - Returns: The records, and their bytes in the store.
    func storedRecords(
        zone: UInt32, names: [String], damaged: DamagedRecords
    ) async throws -> (records: [StoredRecord?], byteCount: Int) {
        let values = try await recordValues(zone: zone, names: names, damaged: damaged)
        let records = try damaged.decode(values, of: names) { name, value, texts in
            try StoredRecord(name: name, decoding: value, sharing: &texts).checked
        }
        return (records, values.reduce(0) { $0 + ($1?.count ?? 0) })
    }

    /// The records under `names` as answers carry them, in the order asked for; damaged ones are nil and added to `damaged`.
    ///
    /// - Parameters:
    ///   - zone: The number of the zone.
    ///   - names: Names of records that are not deleted.
    ///   - zoneID: The zone as the caller knows it.
    ///   - desired: The fields that the records get; nil for all (B-REC-08).
    ///   - damaged: Gets the names of damaged records.
    package func records(
        zone: UInt32, names: [String], in zoneID: ZoneID, desired: Set<String>?, damaged: DamagedRecords
    ) async throws -> [Record?] {
        let values = try await recordValues(zone: zone, names: names, damaged: damaged)
        return try damaged.decode(values, of: names) { name, value, texts in
            try Record(name: name, in: zoneID, decoding: value, desired: desired, sharing: &texts)
        }
    }

    private func recordValues(zone: UInt32, names: [String], damaged: DamagedRecords) async throws -> [Bytes?] {
        let keys = names.map { StoredRecord.key(zone: zone, name: $0) }
        do {
            return try await get(keys)
        } catch let error as StoreError where error.code == .damagedValue {
            return try await readableValues(keys, names, damaged)
        }
    }

    /// Up to `limit` stored records with their names, in the order of these, tombstones included, beginning after a name; damaged ones
    /// are nil.
    ///
    /// - Parameters:
    ///   - zone: The number of the zone.
    ///   - name: The name after which the list begins; nil for the beginning.
    ///   - limit: The most records.
    package func namedRecords(
        zone: UInt32, after name: String?, limit: Int
    ) async throws -> [(name: String, record: StoredRecord?)] {
        var range = KeyRange(prefix: KeyBuilder(.record, zone: zone).bytes)
        if let name { range.lower = StoredRecord.key(zone: zone, name: name) + [0] }
        return try await scan(range, limit: limit).map { entry in
            var key = KeyReader(entry.key, in: .record)
            try key.skip()
            let name = try key.readString()
            do {
                return (name, try StoredRecord(name: name, decoding: entry.value).checked)
            } catch is DamagedValue {
                return (name, nil)
            }
        }
    }

    /// Reads one value after the other, so that a damaged one hides no other.
    private func readableValues(
        _ keys: [Bytes], _ names: [String], _ damaged: DamagedRecords
    ) async throws -> [Bytes?] {
        var values: [Bytes?] = []
        for (key, name) in zip(keys, names) {
            do {
                values.append(try await get(key))
            } catch let error as StoreError where error.code == .damagedValue {
                damaged.add(name)
                values.append(nil)
            }
        }
        return values
    }
}
