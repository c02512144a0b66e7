import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Sets the indexes of a field.
package struct SetIndex: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Sets the kinds of queries that a field, or an attribute of records, can answer, and builds the entries of
    /// existing records for them; queries cannot use the field's indexes until that is done (B-SCH-07).
    ///
    /// An interrupted call leaves the index marked as being built; the same call again completes it.
    ///
    /// - Parameter indexes: The field's indexes from now on; those that its type cannot have are refused.
    package func run(
        _ indexes: FieldIndexes, on key: QueryKey, ofType name: String, in container: ContainerID,
        _ environment: Environment
    ) async throws {
        let partition = StoragePartition.schema(container, environment)
        let schema = try await cloud.schemas.change(partition) { schema in
            guard let type = schema[name] else {
                throw RequestFailure(.typeNotFound, "Did not find record type: \(name)")
            }
            schema.types[name] = try type.marking(indexes, building: indexes, on: key)
            return [name]
        }
        guard let field = schema[name]?.recordIndexes[key.schemaName] else { return }
        try await BuildIndexes(cloud).run(
            of: field, recordType: name, in: container, environment, schemaVersion: schema.version)
        _ = try await cloud.schemas.change(partition) { schema in
            schema.types[name] = try schema[name]?.marking(indexes, building: [], on: key)
            return [name]
        }
    }
}

extension QueryKey {
    /// The name by which indexes know the key.
    fileprivate var schemaName: String {
        switch self {
        case .field(let name): name
        case .system(let field): field.schemaName
        case .anySearchable: ""
        }
    }
}

extension RecordTypeDefinition {
    /// Returns the type with other indexes on one key.
    fileprivate func marking(
        _ indexes: FieldIndexes, building: FieldIndexes, on key: QueryKey
    ) throws(RequestFailure) -> RecordTypeDefinition {
        var type = self
        switch key {
        case .field(let name):
            guard let field = fields[name] else {
                throw RequestFailure(.badRequest, "Did not find field '\(name)' of record type: \(self.name)")
            }
            try Self.check(indexes, max: field.type.indexesMax, name: name)
            type.fields[name]?.indexes = indexes
            type.fields[name]?.building = building
        case .system(let field):
            try Self.check(indexes, max: field.indexesMax, name: field.schemaName)
            // One that is being taken away stays until what it holds is cleared.
            type.systemIndexes[field] = indexes
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
