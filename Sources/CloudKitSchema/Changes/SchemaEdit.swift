import CloudKitModel

/// One change that an operator makes to the schema of development by hand.
package enum SchemaEdit: Hashable, Sendable {
    case addType(String)
    case removeType(String)
    case addField(String, of: String, FieldDefinition)
    case removeField(String, of: String)
    case addRole(String)
    /// Takes its grants away as well.
    case removeRole(String)

    /// The record type and field that stored records may have and the schema loses; nil where it loses none. No field: the type.
    package var removal: (recordType: String, field: String?)? {
        switch self {
        case .removeType(let name): (name, nil)
        case .removeField(let name, let type): (type, name)
        case .addType, .addField, .addRole, .removeRole: nil
        }
    }
}

extension SchemaDocument {
    /// Returns the schema with one change.
    ///
    /// - Parameter fieldsMax: Fields of one record type (B-LIM-06).
    /// - Throws: `badRequest` for what cannot be added, `typeNotFound` and `itemNotFound` for what is not there.
    package func applying(_ edit: SchemaEdit, fieldsMax: Int = 256) throws(RequestFailure) -> SchemaDocument {
        var result = self
        switch edit {
        case .addType(let name): try result.addType(name)
        case .removeType(let name):
            guard !RecordTypeDefinition.ofTheSystem.contains(where: { $0.name == name }) else {
                throw RequestFailure(.badRequest, "record type \(name) is one of the system and cannot be removed")
            }
            _ = try type(name)
            result.types[name] = nil
        case .addField(let name, let type, let field):
            try result.addField(name, of: type, field, fieldsMax: fieldsMax)
        case .removeField(let name, let type):
            guard try self.type(type).fields[name] != nil else {
                throw RequestFailure(.itemNotFound, "record type \(type) has no field \(name)")
            }
            let system = RecordTypeDefinition.ofTheSystem.first { $0.name == type }
            guard system?.fields[name] == nil else {
                throw RequestFailure(.badRequest, "field \(type).\(name) is one of the system and cannot be removed")
            }
            result.types[type]?.fields[name] = nil
        case .addRole(let name): try result.addRole(name)
        case .removeRole(let name):
            guard result.roles.remove(name) != nil else {
                throw RequestFailure(.itemNotFound, "the schema has no role \(name)")
            }
            for type in types.values { result.types[type.name]?.grants = type.grants.filter { $0.role != name } }
        }
        return result
    }

    private func type(_ name: String) throws(RequestFailure) -> RecordTypeDefinition {
        guard let type = types[name] else {
            throw RequestFailure(.typeNotFound, "Did not find record type: \(name)")
        }
        return type
    }

    private mutating func addType(_ name: String) throws(RequestFailure) {
        guard SchemaWords.isPlainName(name) else { throw Self.badName("record type") }
        guard types[name] == nil, !RecordTypeDefinition.ofTheSystem.contains(where: { $0.name == name }) else {
            throw RequestFailure(.badRequest, "there is a record type \(name) already")
        }
        guard types.count < Self.typesMax else {
            throw RequestFailure(.badRequest, "a schema has at most \(Self.typesMax) record types")
        }
        types[name] = RecordTypeDefinition(name: name)
    }

    private mutating func addField(
        _ name: String, of typeName: String, _ field: FieldDefinition, fieldsMax: Int
    ) throws(RequestFailure) {
        var type = try type(typeName)
        guard !name.isEmpty else { throw Self.badName("field") }
        try Validity.fieldName(name, ofType: typeName)
        guard type.fields[name] == nil else {
            throw RequestFailure(.badRequest, "record type \(typeName) has a field \(name) already")
        }
        guard type.fields.count < fieldsMax else {
            throw RequestFailure(.badRequest, "a record type has at most \(fieldsMax) fields")
        }
        guard FieldType.choices.contains(FieldType(field.type.base, isEncrypted: field.type.isEncrypted)) else {
            throw RequestFailure(.badRequest, "\(field.type.schemaWord) is no type of fields")
        }
        guard field.indexes.isSubset(of: field.type.indexesMax) else {
            let allowed = field.type.indexesMax.words
            throw RequestFailure(
                .badRequest, "a field of the type \(field.type.schemaWord) cannot have this index",
                remedy: allowed.isEmpty
                    ? "Leave the indexes out: it has none." : "It can have: \(allowed.joined(separator: ", ")).")
        }
        type.fields[name] = field
        types[typeName] = type
    }

    private mutating func addRole(_ name: String) throws(RequestFailure) {
        guard SchemaWords.isPlainName(name) else { throw Self.badName("role") }
        guard roles.insert(name).inserted else {
            throw RequestFailure(.badRequest, "there is a role \(name) already")
        }
        guard roles.count <= Self.rolesMax else {
            throw RequestFailure(.badRequest, "a schema has at most \(Self.rolesMax) roles")
        }
    }

    private static func badName(_ kind: String) -> RequestFailure {
        RequestFailure(
            .badRequest, "this is no name for a \(kind)",
            remedy: "Use a letter, then letters, digits and underscores, at most \(Validity.nameLengthMax) characters.")
    }
}

extension FieldType {
    /// The types of single values that a field can have.
    package static let choices: [FieldType] = SchemaWords.types.values.sorted { $0.rawValue < $1.rawValue }.flatMap {
        base in
        [FieldType(base)] + (SchemaWords.encryptable.contains(base) ? [FieldType(base, isEncrypted: true)] : [])
    }
}
