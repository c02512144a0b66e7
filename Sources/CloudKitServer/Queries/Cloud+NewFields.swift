import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

extension Cloud {
    /// Gives older records their place in orders by fields that a save has just added to their type (B-SCH-01, B-SCH-06).
    ///
    /// An order by a field names the records without it, too, and finds them by an entry that each save writes; records
    /// saved before the field was known have none yet. Types only grow like this in development, where data is small.
    /// It may be repeated. Until it is done the fields are marked as being built; if it is interrupted,
    /// `finishIndexBuilds` completes it.
    ///
    /// - Parameters:
    ///   - before: The schema before the save.
    ///   - now: The schema with what the save added.
    /// - Returns: The schema without those marks.
    func coverOlderRecords(from before: Schema, to now: Schema, in place: DatabasePlace) async throws -> Schema {
        let grown = now.types.values.compactMap { type -> RecordIndexes? in
            guard let old = before[type.name] else { return nil }
            let fields = type.recordIndexes.fields.filter { field in
                field.marks.contains(.sortable) && type.fields[field.name] != nil && old.fields[field.name] == nil
            }
            return fields.isEmpty ? nil : RecordIndexes(recordType: type.name, fields: fields)
        }
        if grown.isEmpty { return now }
        for partition in try await registry.databases(of: place.address.container, place.address.environment) {
            for zone in try await zones(of: partition, demanding: now.version) {
                for indexes in grown { try await cover(indexes, zone, in: partition) }
            }
        }
        return try await schemas.change(place.schemaPartition) { schema in
            for indexes in grown {
                for field in indexes.fields {
                    schema.types[indexes.recordType]?.fields[field.name]?.building.remove(.sortable)
                }
            }
            return Set(grown.map(\.recordType))
        }
    }

    /// The zones there are; writers that do not know the fields yet are sent to read the schema first.
    private func zones(
        of partition: StoragePartition, demanding version: UInt64
    ) async throws -> [ZoneHeader] {
        try await store.write(partition) { transaction in
            var header = try await transaction.databaseHeader()
            header.schemaFloor = max(header.schemaFloor, version)
            transaction.set(header)
            let zones = try await transaction.zones(limit: .max).filter { $0.state == .live }
            return zones.contains(where: \.isDefaultZone) ? zones : [.implicitDefault] + zones
        }
    }

    private func cover(_ indexes: RecordIndexes, _ zone: ZoneHeader, in partition: StoragePartition) async throws {
        var last: String?
        repeat {
            last = try await store.write(partition) { [last] transaction -> String? in
                guard try await transaction.zone(named: zone.name)?.number == zone.number else { return nil }
                return try await transaction.buildIndexes(
                    of: indexes.fields, recordType: indexes.recordType, zone: zone.number, after: last)
            }
        } while last != nil
    }
}
