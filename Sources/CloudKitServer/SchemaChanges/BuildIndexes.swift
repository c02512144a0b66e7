import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Builds the indexes of fields over existing records.
struct BuildIndexes: Sendable {
    let cloud: Cloud

    init(_ cloud: Cloud) { self.cloud = cloud }

    /// Rebuilds the indexes of a field over all records of a container and environment.
    ///
    /// The schema must already have the field's marks, and say that they are being built.
    func run(
        of field: IndexedField, recordType: String, in container: ContainerID, _ environment: Environment,
        schemaVersion: UInt64
    ) async throws {
        for partition in try await cloud.registry.databases(of: container, environment) {
            for zone in try await demandSchema(schemaVersion, in: partition) {
                try await cloud.store.write(partition) { transaction in
                    transaction.clearIndexes(of: field.name, recordType: recordType, zone: zone.number)
                }
                if field.marks.isEmpty { continue }
                try await run(of: [field], recordType: recordType, in: partition, zone)
            }
        }
    }

    /// Makes a database refuse writers that have an older schema: they would leave records out of the new index.
    ///
    /// - Returns: The zones there are; later ones begin with the new schema.
    func demandSchema(
        _ version: UInt64, in partition: StoragePartition
    ) async throws -> [ZoneHeader] {
        try await cloud.store.write(partition) { transaction in
            var header = try await transaction.databaseHeader()
            header.schemaFloor = max(header.schemaFloor, version)
            transaction.set(header)
            let zones = try await transaction.zones(limit: .max).filter { $0.state == .live }
            return zones.contains(where: \.isDefaultZone) ? zones : [.implicitDefault] + zones
        }
    }

    /// Writes the entries that the records of one zone have in these fields; those that are there stay as they are.
    func run(
        of fields: [IndexedField], recordType: String, in partition: StoragePartition, _ zone: ZoneHeader
    ) async throws {
        var last: String?
        repeat {
            last = try await cloud.store.write(partition) { [last] transaction -> String? in
                // A zone that was deleted meanwhile must not get entries, which would never be cleared.
                guard try await transaction.zone(named: zone.name)?.number == zone.number else { return nil }
                return try await transaction.buildIndexes(
                    of: fields, recordType: recordType, zone: zone.number, after: last)
            }
        } while last != nil
    }
}
