import CloudKitModel

extension SchemaDocument {
    /// Returns this schema as it takes the place of another one in development: the system's types and fields stay, although a
    /// file leaves them out.
    package func replacing(_ old: SchemaDocument) -> SchemaDocument {
        var result = self
        for type in RecordTypeDefinition.ofTheSystem {
            guard var named = result.types[type.name] else {
                result.types[type.name] = old.types[type.name]
                continue
            }
            for (name, field) in type.fields where named.fields[name] == nil {
                named.fields[name] = old.types[type.name]?.fields[name] ?? field
            }
            result.types[type.name] = named
        }
        return result
    }

    /// Returns production after this schema was deployed to it: what is there stays, what is new is added; indexes and grants
    /// become those of this schema (B-SCH-04). A field that has another type in production keeps it.
    package func deployed(to production: SchemaDocument) -> SchemaDocument {
        var result = production
        result.roles.formUnion(roles)
        for (name, type) in types {
            guard var known = result.types[name] else {
                result.types[name] = type
                continue
            }
            for (field, definition) in type.fields {
                if let held = known.fields[field], held.type != definition.type { continue }
                known.fields[field] = definition
            }
            known.systemIndexes = type.systemIndexes
            known.grants = type.grants
            result.types[name] = known
        }
        return result
    }

    /// Returns the reasons for which this schema cannot take the place of development's: removals and changes that production
    /// could not follow.
    package func conflicts(with production: SchemaDocument) -> [String] {
        changes(from: production).compactMap { change in
            switch change {
            case .removeType(let name): "record type \(name) is in production and cannot be removed"
            case .removeField(let name, let type): "field \(type).\(name) is in production and cannot be removed"
            case .changeType(let name, let type, let from, let to):
                "field \(type).\(name) is \(from.schemaWord) in production and cannot become \(to.schemaWord)"
            case .removeRole(let name): "role \(name) is in production and cannot be removed"
            case .addRole, .addType, .addField, .changeIndexes, .addGrant, .removeGrant: nil
            }
        }
    }
}
