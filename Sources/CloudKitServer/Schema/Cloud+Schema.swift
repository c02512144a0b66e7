import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

extension Cloud {
    /// The record types of a container and environment.
    package func schema(_ container: ContainerID, _ environment: Environment) async throws -> Schema {
        try await schemas.current(.schema(container, environment))
    }

    /// Sets which questions a field, or an attribute of records, can answer, and builds what is needed for that over the
    /// records there are; queries cannot use the field's indexes until that is done (B-SCH-07).
    ///
    /// Interrupted, it leaves the index marked as being built; the same call again completes it.
    ///
    /// - Parameter indexes: Those the field is to have from now on; what its type cannot have is refused.
    package func setIndex(
        _ indexes: FieldIndexes, on key: QueryKey, ofType name: String, in container: ContainerID,
        _ environment: Environment
    ) async throws {
        let partition = StoragePartition.schema(container, environment)
        let schema = try await schemas.change(partition) { schema in
            guard let type = schema[name] else {
                throw RequestFailure(.typeNotFound, "Did not find record type: \(name)")
            }
            schema.types[name] = try type.marking(indexes, building: indexes, on: key)
            return [name]
        }
        guard let field = schema[name]?.recordIndexes[key.schemaName] else { return }
        try await buildIndexes(
            of: field, recordType: name, in: container, environment, schemaVersion: schema.version)
        _ = try await schemas.change(partition) { schema in
            schema.types[name] = try schema[name]?.marking(indexes, building: [], on: key)
            return [name]
        }
    }

    /// Sets what roles may do with the records of a type in the public database (B-DB-07).
    package func setGrants(
        _ grants: Set<Grant>, ofType name: String, in container: ContainerID, _ environment: Environment
    ) async throws {
        _ = try await schemas.change(.schema(container, environment)) { schema in
            guard schema[name] != nil else {
                throw RequestFailure(.typeNotFound, "Did not find record type: \(name)")
            }
            schema.types[name]?.grants = grants
            return [name]
        }
    }

    /// Copies record types, their fields and indexes from development to production, never data and never taking away
    /// (B-SCH-04).
    package func deploySchema(of container: ContainerID) async throws {
        let development = try await schema(container, .development)
        let before = try await schema(container, .production)
        _ = try await schemas.change(.schema(container, .production)) { $0.deploy(development) }
        for (name, type) in development.types {
            guard let old = before[name] else { continue }
            for (field, definition) in type.fields
            where old.fields[field].map({ $0.indexes != definition.indexes }) ?? false {
                try await setIndex(definition.indexes, on: .field(field), ofType: name, in: container, .production)
            }
            for field in QueryKey.SystemField.allCases where old.systemIndexes[field] != type.systemIndexes[field] {
                try await setIndex(
                    type.systemIndexes[field] ?? [], on: .system(field), ofType: name, in: container, .production)
            }
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

extension Schema {
    /// Adds what another schema has and this has not; indexes of known fields stay, to be changed with a build.
    ///
    /// - Returns: The names of types that changed.
    fileprivate mutating func deploy(_ other: Schema) -> Set<String> {
        var changed: Set<String> = []
        for (name, type) in other.types {
            guard var known = types[name] else {
                types[name] = type
                changed.insert(name)
                continue
            }
            known.fields.merge(type.fields) { known, _ in known }
            known.grants = type.grants
            if known != types[name] { changed.insert(name) }
            types[name] = known
        }
        return changed
    }
}

extension RecordTypeDefinition {
    /// The type with other indexes on one key.
    fileprivate func marking(
        _ indexes: FieldIndexes, building: FieldIndexes, on key: QueryKey
    ) throws(RequestFailure) -> RecordTypeDefinition {
        var type = self
        switch key {
        case .field(let name):
            guard let field = fields[name] else {
                throw RequestFailure(.badRequest, "Did not find field '\(name)' of record type: \(self.name)")
            }
            try Self.check(indexes, field.type.indexesMax, name)
            type.fields[name]?.indexes = indexes
            type.fields[name]?.building = building
        case .system(let field):
            try Self.check(indexes, field.indexesMax, field.schemaName)
            // One that is being taken away stays until what it holds is cleared.
            type.systemIndexes[field] = indexes
            type.systemBuilding[field] = building.isEmpty ? nil : building
        case .anySearchable:
            throw RequestFailure(.badRequest, "an index belongs to one field")
        }
        return type
    }

    private static func check(
        _ wanted: FieldIndexes, _ max: FieldIndexes, _ name: String
    ) throws(RequestFailure) {
        guard wanted.isSubset(of: max) else {
            throw RequestFailure(
                .badRequest, "Field '\(name)' cannot have this index", remedy: "Choose an index its type can have.")
        }
    }
}
