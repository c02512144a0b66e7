import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Sets the indexes of a field.
package struct SetIndex: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Sets the kinds of queries that a field, or an attribute of records, can answer, and builds the entries of
    /// existing records for them; queries cannot use an index that is new until that is done (B-SCH-07).
    ///
    /// An interrupted call leaves the index marked as being built; the same call again completes it.
    ///
    /// - Parameters:
    ///   - indexes: The field's indexes from now on; those that its type cannot have are refused.
    ///   - waits: Whether to build the indexes before returning; otherwise the cloud's worker does so.
    package func run(
        _ indexes: FieldIndexes, on key: QueryKey, ofType name: String, in container: ContainerID,
        _ environment: Environment, waits: Bool = true
    ) async throws {
        let partition = StoragePartition.schema(container, environment)
        let before = try await cloud.schemas.current(partition)
        let schema = try await cloud.schemas.change(partition) { schema in
            guard let type = schema[name] else {
                throw RequestFailure(.typeNotFound, "Did not find record type: \(name)")
            }
            schema.types[name] = try type.marking(indexes, on: key)
            return [name]
        }
        let place = ContainerEnvironment(container: container, environment: environment)
        guard waits else {
            cloud.indexBuilds.add(place)
            return
        }
        try await BuildIndexes(cloud).run(
            in: place,
            dropped: DroppedIndexes.between(before, schema).filter { $0.recordType == name })
    }
}

extension RecordTypeDefinition {
    /// Returns the type with other indexes on one key.
    fileprivate func marking(
        _ indexes: FieldIndexes, on key: QueryKey
    ) throws(RequestFailure) -> RecordTypeDefinition {
        var type = self
        switch key {
        case .field(let name):
            guard let field = fields[name] else {
                throw RequestFailure(.badRequest, "Did not find field '\(name)' of record type: \(self.name)")
            }
            try Self.check(indexes, max: field.type.indexesMax, name: name)
            type.fields[name]?.indexes = indexes
            type.fields[name]?.building = indexes.building(from: field.indexes, field.building)
        case .system(let field):
            try Self.check(indexes, max: field.indexesMax, name: field.schemaName)
            let building = indexes.building(from: systemIndexes[field] ?? [], systemBuilding[field] ?? [])
            type.systemIndexes[field] = indexes.isEmpty ? nil : indexes
            type.systemBuilding[field] = building.isEmpty ? nil : building
        case .anySearchable:
            throw RequestFailure(.badRequest, "an index belongs to one field")
        }
        return type
    }

    private static func check(
        _ wanted: FieldIndexes, max: FieldIndexes, name: String
    ) throws(RequestFailure) {
        guard wanted.isSubset(of: max) else {
            throw RequestFailure(
                .badRequest, "Field '\(name)' cannot have this index", remedy: "Choose an index its type can have.")
        }
    }
}
