import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

extension Cloud {
    /// Builds the indexes of a field, anew, over all records of a container and environment.
    ///
    /// The schema must already have the field's marks, and say that they are being built.
    func buildIndexes(
        of field: IndexedField, recordType: String, in container: ContainerID, _ environment: Environment,
        schemaVersion: UInt64
    ) async throws {
        for partition in try await registry.databases(of: container, environment) {
            for zone in try await demandSchema(schemaVersion, in: partition) {
                try await store.write(partition) { transaction in
                    transaction.clearIndexes(of: field.name, recordType: recordType, zone: zone.number)
                }
                if field.marks.isEmpty { continue }
                try await buildIndexes(of: [field], recordType: recordType, in: partition, zone)
            }
        }
    }

    /// Completes what `setIndex`, or a save with new fields, was interrupted in. To be called when a cloud starts.
    package func finishIndexBuilds() async throws {
        for place in try await registry.containers() {
            for type in try await schema(place.container, place.environment).types.values {
                for (name, field) in type.fields where !field.building.isEmpty {
                    try await setIndex(
                        field.indexes, on: .field(name), ofType: type.name, in: place.container, place.environment)
                }
                for (field, _) in type.systemBuilding {
                    try await setIndex(
                        type.systemIndexes[field] ?? [], on: .system(field), ofType: type.name, in: place.container,
                        place.environment)
                }
            }
        }
    }

    /// Makes a database refuse writers that have an older schema: they would leave records out of the new index.
    ///
    /// - Returns: The zones there are; later ones begin with the new schema.
    func demandSchema(
        _ version: UInt64, in partition: StoragePartition
    ) async throws -> [ZoneHeader] {
        try await store.write(partition) { transaction in
            var header = try await transaction.databaseHeader()
            header.schemaFloor = max(header.schemaFloor, version)
            transaction.set(header)
            let zones = try await transaction.zones(limit: .max).filter { $0.state == .live }
            return zones.contains(where: \.isDefaultZone) ? zones : [.implicitDefault] + zones
        }
    }

    /// Writes the entries that the records of one zone have in these fields; those that are there stay as they are.
    func buildIndexes(
        of fields: [IndexedField], recordType: String, in partition: StoragePartition, _ zone: ZoneHeader
    ) async throws {
        var last: String?
        repeat {
            last = try await store.write(partition) { [last] transaction -> String? in
                // A zone that has gone meanwhile must not get entries that nobody would clear.
                guard try await transaction.zone(named: zone.name)?.number == zone.number else { return nil }
                return try await transaction.buildIndexes(
                    of: fields, recordType: recordType, zone: zone.number, after: last)
            }
        } while last != nil
    }
}
