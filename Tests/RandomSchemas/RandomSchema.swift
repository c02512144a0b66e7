import CloudKitModel
import CloudKitSchema

/// Makes small random schemas, in which types, fields and roles often have the same names.
package enum RandomSchema {
    /// Makes a schema.
    package static func document(_ chance: inout some RandomNumberGenerator) -> SchemaDocument {
        var document = SchemaDocument()
        for role in ["editor", "guest"] where Bool.random(using: &chance) { document.roles.insert(role) }
        for name in ["Album", "CD_Track", "Note"] where Int.random(in: 0..<4, using: &chance) > 0 {
            document.types[name] = type(name, roles: document.roles, &chance)
        }
        return document
    }

    private static func type(
        _ name: String, roles: Set<String>, _ chance: inout some RandomNumberGenerator
    ) -> RecordTypeDefinition {
        var type = RecordTypeDefinition(name: name, grants: [])
        for field in ["a", "grant", "list", "Title", "n_1"] where Bool.random(using: &chance) {
            let base = FieldType.Base.allCases.filter { $0 != .unknown }.randomElement(using: &chance) ?? .string
            let isEncrypted = base != .asset && base != .reference && Int.random(in: 0..<5, using: &chance) == 0
            let held = FieldType(base, isList: Int.random(in: 0..<4, using: &chance) == 0, isEncrypted: isEncrypted)
            type.fields[field] = FieldDefinition(type: held, indexes: subset(of: held.indexesMax, &chance))
        }
        for field in QueryKey.SystemField.allCases where Int.random(in: 0..<4, using: &chance) == 0 {
            let indexes = subset(of: field.indexesMax, &chance)
            if !indexes.isEmpty { type.systemIndexes[field] = indexes }
        }
        for role in Grant.systemRoles.union(roles).sorted() {
            for privilege in Grant.Privilege.allCases where Bool.random(using: &chance) {
                type.grants.insert(Grant(privilege, to: role))
            }
        }
        return type
    }

    private static func subset(
        of indexes: FieldIndexes, _ chance: inout some RandomNumberGenerator
    ) -> FieldIndexes {
        FieldIndexes(rawValue: UInt8.random(in: 0...7, using: &chance)).intersection(indexes)
    }

    /// Makes a schema that differs from another one in a few places, mostly by additions.
    package static func successor(
        of document: SchemaDocument, _ chance: inout some RandomNumberGenerator
    ) -> SchemaDocument {
        let other = Self.document(&chance)
        var result = document
        result.roles.formUnion(other.roles)
        for (name, type) in other.types.sorted(by: { $0.key < $1.key }) {
            guard var known = result.types[name] else {
                result.types[name] = type
                continue
            }
            for (field, definition) in type.fields.sorted(by: { $0.key < $1.key }) {
                if let held = known.fields[field] {
                    guard Bool.random(using: &chance) else { continue }
                    let added = subset(of: held.type.indexesMax, &chance)
                    known.fields[field]?.indexes = Bool.random(using: &chance) ? held.indexes.union(added) : added
                } else {
                    known.fields[field] = definition
                }
            }
            for (field, indexes) in type.systemIndexes {
                known.systemIndexes[field, default: []].formUnion(indexes)
            }
            if Int.random(in: 0..<6, using: &chance) == 0 { known.grants = type.grants }
            result.types[name] = known
        }
        if Int.random(in: 0..<8, using: &chance) == 0 { result.types["Note"] = other.types["Note"] }
        return result
    }
}
