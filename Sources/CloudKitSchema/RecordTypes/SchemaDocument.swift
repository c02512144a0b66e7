import CloudKitModel

/// The description of a schema, as a file of the schema language holds it: roles and record types, without the state of index
/// builds.
package struct SchemaDocument: Hashable, Sendable {
    /// The names of the custom roles.
    package var roles: Set<String>
    /// The record types, by name.
    package var types: [String: RecordTypeDefinition]

    /// Creates a value with the given properties.
    package init(roles: Set<String> = [], types: [String: RecordTypeDefinition] = [:]) {
        self.roles = roles
        self.types = types
    }

    /// Returns the record type of a name; nil if there is none.
    package subscript(name: String) -> RecordTypeDefinition? { types[name] }
}

extension Schema {
    /// The description of this schema. The type of shares is part of it once a share was saved or the type was imported
    /// (B-SCH-03).
    package var document: SchemaDocument {
        var described: [String: RecordTypeDefinition] = [:]
        for (name, type) in types where name == RecordTypeDefinition.usersName || !implicitTypes.contains(name) {
            described[name] = type.withoutBuilds
        }
        return SchemaDocument(roles: roles, types: described)
    }
}

extension RecordTypeDefinition {
    /// The type without the marks of unfinished index builds and without empty sets of indexes.
    package var withoutBuilds: RecordTypeDefinition {
        var type = self
        for name in type.fields.keys { type.fields[name]?.building = [] }
        type.systemBuilding = [:]
        type.systemIndexes = type.systemIndexes.filter { !$0.value.isEmpty }
        return type
    }
}
