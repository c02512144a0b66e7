import CloudKitModel

/// The types and fields that the records of a batch add to a schema: in development they come with the first record that has
/// them (B-SCH-01); in production nothing is added (B-SCH-02).
///
/// Records are admitted one after the other, so that the second record of a batch meets the definitions of the first.
package struct SchemaGrowth: Sendable {
    /// The schema with the additions so far.
    package private(set) var schema: Schema
    /// The types that are new or have new fields.
    package private(set) var grownTypes: Set<String> = []
    private let environment: Environment
    private let fieldsMax: Int
    private let indexesRecordNames: Bool

    /// - Parameters:
    ///   - fieldsMax: Fields of one record type (B-LIM-06).
    ///   - indexesRecordNames: Whether new types can be queried without filters.
    package init(
        _ schema: Schema, environment: Environment, fieldsMax: Int, indexesRecordNames: Bool = false
    ) {
        self.indexesRecordNames = indexesRecordNames
        self.schema = schema
        self.environment = environment
        self.fieldsMax = fieldsMax
    }

    /// Whether the schema must be changed before the records can be saved.
    package var isGrown: Bool { !grownTypes.isEmpty }

    /// Fits a record's fields to the schema, growing it where it may.
    ///
    /// - Returns: The fields as they are to be stored, in the order given.
    package mutating func admit(_ fields: [Field], of recordType: String) throws(RequestFailure) -> [Field] {
        guard let known = schema[recordType] else { return try admitNew(recordType, fields) }
        let isFirstShare = recordType == Validity.shareRecordType && schema.implicitTypes.contains(recordType)
        if isFirstShare, environment == .production { throw Self.newType(recordType) }
        return try admit(fields, to: known, isNew: isFirstShare)
    }

    private static func newType(_ recordType: String) -> RequestFailure {
        RequestFailure(
            .schemaMismatch, "Cannot create new type \(recordType) in production schema",
            remedy: "Create the type in development and run: welkin schema deploy CONTAINER")
    }

    private mutating func admitNew(_ recordType: String, _ fields: [Field]) throws(RequestFailure) -> [Field] {
        try Validity.recordType(recordType)
        if environment == .production {
            throw Self.newType(recordType)
        }
        let new = RecordTypeDefinition(
            name: recordType, systemIndexes: indexesRecordNames ? [.recordName: .queryable] : [:])
        return try admit(fields, to: new, isNew: true)
    }

    private mutating func admit(
        _ fields: [Field], to known: RecordTypeDefinition, isNew: Bool
    ) throws(RequestFailure) -> [Field] {
        var added: [String: FieldDefinition] = [:]
        var fitting = fields
        for index in fields.indices {
            let field = fields[index]
            let defined = known.fields[field.name] ?? added[field.name]
            // Nearly all, without a copy of the fields.
            if field.type == defined?.type { continue }
            switch FieldFit(field, of: known.name, defined: defined, in: environment) {
            case .fits(let field):
                fitting[index] = field
            case .isNew(let definition):
                added[field.name] = definition
                fitting[index].type = definition.type
            case .refuse(let failure):
                throw failure
            }
        }
        guard known.fields.count + added.count <= fieldsMax else {
            throw RequestFailure(
                .schemaMismatch, "A record type can have \(fieldsMax) fields",
                remedy: "Spread the fields over several record types.")
        }
        if isNew || !added.isEmpty { grow(known, by: added) }
        return fitting
    }

    private mutating func grow(_ type: RecordTypeDefinition, by added: [String: FieldDefinition]) {
        var type = type
        type.fields.merge(added) { known, _ in known }
        schema.types[type.name] = type
        schema.implicitTypes.remove(type.name)
        grownTypes.insert(type.name)
    }
}

extension Schema {
    /// Takes over what a batch added to an older version of this schema.
    ///
    /// A field that meanwhile got another type keeps that: the batch is weighed again against the result. A new field of a
    /// known type is marked as being built until older records have their place in its order (B-SCH-07).
    ///
    /// - Returns: The names of types that changed.
    package mutating func merge(_ growth: SchemaGrowth) -> Set<String> {
        var changed: Set<String> = []
        for name in growth.grownTypes {
            guard let grown = growth.schema[name] else { continue }
            var type =
                types[name]
                ?? RecordTypeDefinition(name: name, systemIndexes: grown.systemIndexes, grants: grown.grants)
            let isNew = types[name] == nil
            let before = type.fields.count
            for (field, definition) in grown.fields where type.fields[field] == nil {
                var definition = definition
                if !isNew { definition.building = definition.indexes.intersection(.sortable) }
                type.fields[field] = definition
            }
            let isFirst = implicitTypes.contains(name) && !growth.schema.implicitTypes.contains(name)
            if isNew || isFirst || type.fields.count != before {
                types[name] = type
                implicitTypes.remove(name)
                changed.insert(name)
            }
        }
        return changed
    }
}
