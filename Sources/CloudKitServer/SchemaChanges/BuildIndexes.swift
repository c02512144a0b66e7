import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Builds the indexes of fields over existing records.
struct BuildIndexes: Sendable {
    let cloud: Cloud

    init(_ cloud: Cloud) { self.cloud = cloud }

    /// Builds every index of a container and environment that is marked as being built, in steps between which writers go on
    /// (B-SCH-07), and clears the entries of indexes that were dropped.
    ///
    /// - Parameters:
    ///   - dropped: Fields that have lost indexes, with the indexes that they keep.
    ///   - progress: Is called after each step.
    func run(
        in place: ContainerEnvironment, dropped: [DroppedIndexes] = [],
        progress: @Sendable (IndexBuildProgress) -> Void = { _ in }
    ) async throws {
        try await cloud.indexBuilds.turns.withLock(place) {
            defer { cloud.indexBuilds.note(nil, of: place) }
            if try await unfinished(in: place).types.isEmpty, dropped.isEmpty { return }
            try await cloud.nodes.exclusively(place.leaseName) { term in
                try await build(in: place, dropped: dropped, under: term, progress: progress)
            }
        }
    }

    /// Returns the types with indexes that are being built, and the version of their schema.
    private func unfinished(in place: ContainerEnvironment) async throws -> (types: [RecordIndexes], version: UInt64) {
        let schema = try await cloud.schema(place.container, place.environment)
        let types = schema.types.values.compactMap { type -> RecordIndexes? in
            let fields = type.recordIndexes.fields.filter { !$0.building.isEmpty }
            return fields.isEmpty ? nil : RecordIndexes(recordType: type.name, fields: fields)
        }
        return (types, schema.version)
    }

    /// - Parameter term: Of the lease, which another process takes over when this one stops for long: what it has built must not be cleared.
    private func build(
        in place: ContainerEnvironment, dropped: [DroppedIndexes], under term: LeaseTerm?,
        progress: @Sendable (IndexBuildProgress) -> Void
    ) async throws {
        let (types, version) = try await unfinished(in: place)
        if types.isEmpty, dropped.isEmpty { return }
        let databases = try await cloud.registry.databases(of: place.container, place.environment)
        var state = IndexBuildProgress()
        state.databases = databases.count
        for partition in databases {
            for zone in try await demandSchema(version, in: partition) {
                try await clear(dropped, types, in: partition, zone, under: term)
                for type in types {
                    try await run(of: type.fields, recordType: type.recordType, in: partition, zone) { records in
                        state.records += records
                        cloud.indexBuilds.note(state, of: place)
                        progress(state)
                    }
                }
            }
            state.databasesDone += 1
            cloud.indexBuilds.note(state, of: place)
            progress(state)
        }
        if !types.isEmpty { try await finish(types, in: place, under: term) }
    }

    private func clear(
        _ dropped: [DroppedIndexes], _ types: [RecordIndexes], in partition: StoragePartition, _ zone: ZoneHeader,
        under term: LeaseTerm?
    ) async throws {
        try await cloud.store.write([partition] + LeaseTerm.partitions(of: term)) { transaction in
            try await term?.check(transaction)
            for field in dropped {
                transaction.clearIndexes(
                    of: field.name, keeping: field.kept, recordType: field.recordType, zone: zone.number)
            }
            for type in types {
                for field in type.fields {
                    transaction.clearIndexes(
                        of: field.name, keeping: field.usable, recordType: type.recordType, zone: zone.number)
                }
            }
        }
    }

    /// Marks the indexes that were built as usable.
    private func finish(
        _ types: [RecordIndexes], in place: ContainerEnvironment, under term: LeaseTerm?
    ) async throws {
        _ = try await cloud.schemas.change(.schema(place.container, place.environment), under: term) { schema in
            for type in types {
                for field in type.fields {
                    let built = FieldIndexes(rawValue: field.building.rawValue)
                    schema.types[type.recordType]?.endBuild(of: field.name, built)
                }
            }
            return Set(types.map(\.recordType)).intersection(schema.types.keys)
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
    ///
    /// - Parameter step: Is called with the number of records of each step.
    func run(
        of fields: [IndexedField], recordType: String, in partition: StoragePartition, _ zone: ZoneHeader,
        step: (Int) -> Void = { _ in }
    ) async throws {
        var last: String?
        repeat {
            last = try await cloud.store.write(partition) { [last] transaction -> String? in
                // A zone that was deleted meanwhile must not get entries, which would never be cleared.
                guard try await transaction.zone(named: zone.name)?.number == zone.number else { return nil }
                return try await transaction.buildIndexes(
                    of: fields, recordType: recordType, zone: zone.number, after: last, limit: Self.recordsAtOnce)
            }
            if last != nil { step(Self.recordsAtOnce) }
        } while last != nil
    }

    private static let recordsAtOnce = 200
}

/// A field that has lost indexes.
struct DroppedIndexes: Hashable, Sendable {
    var recordType: String
    /// The field, or a system field by its name in schemas.
    var name: String
    /// The indexes that the field keeps and that queries use.
    var kept: IndexMarks

    /// Returns the fields that have lost indexes between two schemas.
    static func between(_ before: Schema, _ now: Schema) -> [DroppedIndexes] {
        before.types.values.flatMap { old -> [DroppedIndexes] in
            let new = now[old.name]?.recordIndexes
            return old.recordIndexes.fields.compactMap { field in
                let held = new?[field.name]
                if field.marks.isSubset(of: held?.marks ?? []) { return nil }
                return DroppedIndexes(recordType: old.name, name: field.name, kept: held?.usable ?? [])
            }
        }
    }
}

extension RecordTypeDefinition {
    /// Takes away marks of unfinished builds.
    fileprivate mutating func endBuild(of field: String, _ built: FieldIndexes) {
        if let system = QueryKey.SystemField(schemaName: field) {
            let rest = (systemBuilding[system] ?? []).subtracting(built)
            systemBuilding[system] = rest.isEmpty ? nil : rest
        } else {
            fields[field]?.building.subtract(built)
        }
    }
}
