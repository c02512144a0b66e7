import OrderedStore

/// A row of the schema's partition.
package enum StorageSchemaRow: Hashable, Sendable {
    case recordType(name: String)
    case version
    case role(name: String)

    /// Reads a row; nil for one of another kind.
    package init?(_ key: [UInt8], _ value: [UInt8]) throws {
        switch key.first.flatMap(Subspace.init(rawValue:)) {
        case .recordType:
            var reader = KeyReader(key, in: .recordType)
            self = .recordType(name: try reader.readString())
        case .schemaVersion:
            var reader = ValueReader(value, of: .schemaVersion)
            _ = try reader.number(UInt64.self)
            self = .version
        case .schemaRole: self = .role(name: try SchemaRoleValue(Entry(key: key, value: value)).name)
        default: return nil
        }
    }
}

/// The schema's partition: one entry a record type, and a version that every change raises.
extension Reading {
    /// Returns the version of the stored schema; 0 before the first.
    package func schemaVersionValue() async throws -> UInt64 {
        guard let bytes = try await get(Self.schemaVersionKey) else { return 0 }
        var value = ValueReader(bytes, of: .schemaVersion)
        return try value.number()
    }

    /// Returns the stored record types, by name.
    package func recordTypeValues() async throws -> [(name: String, value: Bytes)] {
        try await scan(Subspace.recordType.range, limit: .max).map { entry in
            var key = KeyReader(entry.key, in: .recordType)
            return (try key.readString(), entry.value)
        }
    }

    /// Returns the stored custom roles with the names of their users.
    package func schemaRoleValues() async throws -> [(name: String, users: [String])] {
        try await scan(Subspace.schemaRole.range, limit: .max).map { entry in
            let role = try SchemaRoleValue(entry)
            return (role.name, role.users)
        }
    }

    /// The key of the version.
    package static var schemaVersionKey: Bytes { [Subspace.schemaVersion.rawValue] }
}

/// A custom role with the names of its users.
private struct SchemaRoleValue {
    let name: String
    let users: [String]

    init(_ entry: Entry) throws {
        var key = KeyReader(entry.key, in: .schemaRole)
        name = try key.readString()
        var value = ValueReader(entry.value, of: .schemaRole)
        users = try (0..<(try value.number(UInt32.self))).map { _ in try value.text() }
    }
}

extension WriteTransaction {
    /// Writes a record type.
    package mutating func setRecordTypeValue(_ name: String, _ value: Bytes) {
        set(KeyBuilder(.recordType).adding(name).bytes, value)
    }

    /// Removes a record type.
    package mutating func clearRecordTypeValue(_ name: String) { clear(KeyBuilder(.recordType).adding(name).bytes) }

    /// Writes a custom role with the names of its users.
    package mutating func setSchemaRole(_ name: String, users: [String]) {
        var value = ValueWriter(capacity: 4 + 40 * users.count)
        value.add(UInt32(users.count))
        for user in users { value.add(user) }
        set(KeyBuilder(.schemaRole).adding(name).bytes, value.bytes)
    }

    /// Removes a custom role.
    package mutating func clearSchemaRole(_ name: String) { clear(KeyBuilder(.schemaRole).adding(name).bytes) }

    /// Writes the version of the schema.
    package mutating func setSchemaVersionValue(_ version: UInt64) {
        var value = ValueWriter(capacity: 8)
        value.add(version)
        set(Self.schemaVersionKey, value.bytes)
    }
}
