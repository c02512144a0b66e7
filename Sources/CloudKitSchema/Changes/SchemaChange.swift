import CloudKitModel

/// One difference between two schemas.
package enum SchemaChange: Hashable, Sendable {
    case addRole(String)
    case removeRole(String)
    case addType(RecordTypeDefinition)
    case removeType(String)
    case addField(String, of: String, FieldDefinition)
    case removeField(String, of: String)
    case changeType(String, of: String, from: FieldType, to: FieldType)
    /// The indexes of a field, or of a system field by its name in schemas.
    case changeIndexes(String, of: String, from: FieldIndexes, to: FieldIndexes)
    case addGrant(Grant, on: String)
    case removeGrant(Grant, on: String)

    /// The change as one line: `+` for an addition, `-` for a removal, `~` for a change.
    package var line: String {
        switch self {
        case .addRole(let role): "+ ROLE \(role)"
        case .removeRole(let role): "- ROLE \(role)"
        case .addType(let type): "+ RECORD TYPE \(type.name) (\(type.fields.count) fields)"
        case .removeType(let name): "- RECORD TYPE \(name)"
        case .addField(let name, let type, let field):
            "+ \(type).\(name) " + ([field.type.schemaWord] + field.indexes.words).joined(separator: " ")
        case .removeField(let name, let type): "- \(type).\(name)"
        case .changeType(let name, let type, let from, let to):
            "~ \(type).\(name) \(from.schemaWord) -> \(to.schemaWord)"
        case .changeIndexes(let name, let type, let from, let to):
            "~ \(type).\(name) \(Self.shown(from)) -> \(Self.shown(to))"
        case .addGrant(let grant, let type): "+ \(type) GRANT \(grant.privilege.rawValue) TO \(grant.role)"
        case .removeGrant(let grant, let type): "- \(type) GRANT \(grant.privilege.rawValue) TO \(grant.role)"
        }
    }

    private static func shown(_ indexes: FieldIndexes) -> String {
        indexes.isEmpty ? "no index" : indexes.words.joined(separator: " ")
    }
}

extension SchemaDocument {
    /// Returns the changes that make this schema of another one, in the order of roles, types and fields.
    package func changes(from old: SchemaDocument) -> [SchemaChange] {
        var changes: [SchemaChange] = roles.subtracting(old.roles).sorted().map { .addRole($0) }
        changes += old.roles.subtracting(roles).sorted().map { .removeRole($0) }
        for name in Set(types.keys).union(old.types.keys).sorted(by: Self.precedes) {
            switch (old.types[name], types[name]) {
            case (nil, let new?): changes.append(.addType(new))
            case (_?, nil): changes.append(.removeType(name))
            case (let known?, let new?): changes += new.changes(from: known)
            case (nil, nil): break
            }
        }
        return changes
    }
}

extension RecordTypeDefinition {
    fileprivate func changes(from old: RecordTypeDefinition) -> [SchemaChange] {
        var changes: [SchemaChange] = []
        for field in Set(fields.keys).union(old.fields.keys).sorted(by: SchemaDocument.precedes) {
            switch (old.fields[field], fields[field]) {
            case (nil, let new?): changes.append(.addField(field, of: name, new))
            case (_?, nil): changes.append(.removeField(field, of: name))
            case (let known?, let new?):
                if known.type != new.type {
                    changes.append(.changeType(field, of: name, from: known.type, to: new.type))
                }
                if known.indexes != new.indexes {
                    changes.append(.changeIndexes(field, of: name, from: known.indexes, to: new.indexes))
                }
            case (nil, nil): break
            }
        }
        for field in QueryKey.SystemField.allCases {
            let (before, now) = (old.systemIndexes[field] ?? [], systemIndexes[field] ?? [])
            if before != now {
                changes.append(.changeIndexes(field.schemaName, of: name, from: before, to: now))
            }
        }
        changes += Grant.ordered(grants.subtracting(old.grants)).map { .addGrant($0, on: name) }
        changes += Grant.ordered(old.grants.subtracting(grants)).map { .removeGrant($0, on: name) }
        return changes
    }
}

extension Grant {
    fileprivate static func ordered(_ grants: Set<Grant>) -> [Grant] {
        grants.sorted { ($0.role, $0.privilege.rawValue) < ($1.role, $1.privilege.rawValue) }
    }
}
