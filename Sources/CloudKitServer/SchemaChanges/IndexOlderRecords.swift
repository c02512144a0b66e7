import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Indexes the records of a type by fields that a save has just added to it.
struct IndexOlderRecords: Sendable {
    let cloud: Cloud

    init(_ cloud: Cloud) { self.cloud = cloud }

    /// Adds older records to the orders by fields that a save has just added to their type (B-SCH-01, B-SCH-06).
    ///
    /// An order by a field includes the records without the field, and finds them by an entry that each save writes;
    /// records saved before the field was known have none yet. Types only grow like this in development, where data is
    /// small. The call may be repeated. Until it is done, the fields are marked as being built; if it is interrupted,
    /// `finishIndexBuilds` completes it.
    ///
    /// - Parameters:
    ///   - before: The schema before the save.
    ///   - now: The schema after the save.
    /// - Returns: The schema without those marks.
    func run(from before: Schema, to now: Schema, in place: DatabaseContext) async throws -> Schema {
        let grown = now.types.values.compactMap { type -> RecordIndexes? in
            guard let old = before[type.name] else { return nil }
            let fields = type.recordIndexes.fields.filter { field in
                field.marks.contains(.sortable) && type.fields[field.name] != nil && old.fields[field.name] == nil
            }
            return fields.isEmpty ? nil : RecordIndexes(recordType: type.name, fields: fields)
        }
        if grown.isEmpty { return now }
        for partition in try await cloud.registry.databases(of: place.address.container, place.address.environment) {
            for zone in try await BuildIndexes(cloud).demandSchema(now.version, in: partition) {
                for indexes in grown {
                    try await BuildIndexes(cloud).run(
                        of: indexes.fields, recordType: indexes.recordType, in: partition, zone)
                }
            }
        }
        return try await cloud.schemas.change(place.schemaPartition) { schema in
            for indexes in grown {
                for field in indexes.fields {
                    schema.types[indexes.recordType]?.fields[field.name]?.building.remove(.sortable)
                }
            }
            return Set(grown.map(\.recordType))
        }
    }
}
