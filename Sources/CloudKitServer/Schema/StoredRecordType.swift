import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

extension RecordTypeDefinition {
    private static let format: UInt8 = 1

    /// The definition as stored in the schema's partition.
    var stored: StorageBytes {
        var value = ValueWriter(capacity: 32 + 24 * fields.count)
        value.add(byte: Self.format)
        value.add(UInt16(clamping: fields.count))
        for (name, field) in fields.sorted(by: { $0.key < $1.key }) {
            value.add(name)
            value.add(byte: field.type.base.rawValue)
            value.add(byte: (field.type.isList ? 1 : 0) | (field.type.isEncrypted ? 2 : 0))
            value.add(byte: field.indexes.rawValue)
            value.add(byte: field.building.rawValue)
        }
        value.add(UInt16(clamping: systemIndexes.count))
        for (field, indexes) in systemIndexes.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            value.add(field.rawValue)
            value.add(byte: indexes.rawValue)
            value.add(byte: systemBuilding[field]?.rawValue ?? 0)
        }
        value.add(UInt16(clamping: grants.count))
        for grant in grants.sorted(by: { ($0.role, $0.privilege.rawValue) < ($1.role, $1.privilege.rawValue) }) {
            value.add(grant.role)
            value.add(grant.privilege.rawValue)
        }
        return value.bytes
    }

    init(name: String, stored bytes: StorageBytes) throws {
        var value = ValueReader(bytes, of: .recordType)
        guard try value.byte() == Self.format else { throw DamagedValue(.recordType) }
        self.init(name: name, grants: [])
        for _ in 0..<(try value.number(UInt16.self)) {
            let name = try value.text()
            guard let base = FieldType.Base(rawValue: try value.byte()) else { throw DamagedValue(.recordType) }
            let flags = try value.byte()
            let type = FieldType(base, isList: flags & 1 != 0, isEncrypted: flags & 2 != 0)
            fields[name] = FieldDefinition(
                type: type, indexes: FieldIndexes(rawValue: try value.byte()),
                building: FieldIndexes(rawValue: try value.byte()))
        }
        for _ in 0..<(try value.number(UInt16.self)) {
            guard let field = QueryKey.SystemField(rawValue: try value.text()) else {
                throw DamagedValue(.recordType)
            }
            systemIndexes[field] = FieldIndexes(rawValue: try value.byte())
            let building = FieldIndexes(rawValue: try value.byte())
            if !building.isEmpty { systemBuilding[field] = building }
        }
        for _ in 0..<(try value.number(UInt16.self)) {
            let role = try value.text()
            guard let privilege = Grant.Privilege(rawValue: try value.text()) else {
                throw DamagedValue(.recordType)
            }
            grants.insert(Grant(privilege, to: role))
        }
    }
}

extension StorageView {
    /// Returns the version of the schema that this partition holds; 0 for one that was never written.
    func schemaVersion() async throws -> UInt64 { try await schemaVersionValue() }

    /// Returns the whole schema that this partition holds.
    func schema() async throws -> Schema {
        let types = try await recordTypeValues().map { try RecordTypeDefinition(name: $0.name, stored: $0.value) }
        let roles = try await schemaRoleValues().map { ($0.name, Set($0.users.map { UserID($0) })) }
        return Schema(
            version: try await schemaVersion(),
            types: Dictionary(types.map { ($0.name, $0) }, uniquingKeysWith: { _, last in last }),
            roleMembers: Dictionary(roles, uniquingKeysWith: { _, last in last }))
    }
}

extension StorageWriter {
    /// Stores those of a schema's types and roles that changed, under a new version.
    mutating func store(_ schema: inout Schema, changed: Set<String>, from before: Schema) {
        if changed.isEmpty, schema.roleMembers == before.roleMembers { return }
        schema.version += 1
        for name in changed {
            if let type = schema[name], !schema.implicitTypes.contains(name) {
                setRecordTypeValue(name, type.stored)
            } else {
                clearRecordTypeValue(name)
            }
        }
        for (role, users) in schema.roleMembers where before.roleMembers[role] != users {
            setSchemaRole(role, users: users.map(\.recordName).sorted())
        }
        for role in before.roles.subtracting(schema.roles) { clearSchemaRole(role) }
        setSchemaVersionValue(schema.version)
    }
}
