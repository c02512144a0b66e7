import CloudKitModel

/// One record type of a container: its fields, the indexes on records' own attributes, and the grants to roles.
package struct RecordTypeDefinition: Hashable, Sendable {
    /// The name of the record type.
    package var name: String
    /// The fields, by name.
    package var fields: [String: FieldDefinition]
    /// Indexes on the record's name, times and users; none unless an operator adds them (B-SCH-06).
    package var systemIndexes: [QueryKey.SystemField: FieldIndexes]
    /// The members of `systemIndexes` that do not cover older records yet (B-SCH-07).
    package var systemBuilding: [QueryKey.SystemField: FieldIndexes] = [:]
    /// Public database only.
    package var grants: Set<Grant>

    /// Creates a value with the given properties.
    package init(
        name: String, fields: [String: FieldDefinition] = [:],
        systemIndexes: [QueryKey.SystemField: FieldIndexes] = [:], grants: Set<Grant> = Grant.defaults
    ) {
        self.name = name
        self.fields = fields
        self.systemIndexes = systemIndexes
        self.grants = grants
    }

    /// The type of user records; every container has it (B-USR-02).
    package static let usersName = "Users"

    /// The record type of users, which every container has.
    package static let users = RecordTypeDefinition(
        name: usersName, fields: ["roles": FieldDefinition(type: FieldType.int64.list)], grants: Grant.userDefaults)

    /// The type of shares; every container has it, so that shares can be asked for before there is one (B-SHR-09).
    package static let shares = RecordTypeDefinition(
        name: Validity.shareRecordType,
        fields: [
            "cloudkit.title": FieldDefinition(justInTime: .string),
            "cloudkit.type": FieldDefinition(justInTime: .string),
            "cloudkit.thumbnailImageData": FieldDefinition(justInTime: .bytes),
        ], systemIndexes: [.recordName: .queryable])

    /// The types that no app defines.
    static let ofTheSystem = [users, shares]
}

extension QueryKey.SystemField {
    /// Every index the attribute may have.
    package var indexesMax: FieldIndexes {
        switch self {
        case .createdTimestamp, .modifiedTimestamp, .recordName, .createdUserRecordName, .modifiedUserRecordName:
            [.queryable, .sortable]
        case .share, .parent: [.queryable]
        }
    }
}

/// The record types of one container and environment, as of one version.
package struct Schema: Hashable, Sendable {
    /// Raised by every change.
    package var version: UInt64
    /// The record types, by name.
    package var types: [String: RecordTypeDefinition]
    /// The custom roles that are declared, with the users who have them (B-DB-07).
    package var roleMembers: [String: Set<UserID>]
    /// The types of the system that no record, import or deployment has brought yet (B-SCH-03).
    package var implicitTypes: Set<String> = []

    /// Creates a value with the given properties.
    package init(
        version: UInt64 = 0, types: [String: RecordTypeDefinition] = [:], roleMembers: [String: Set<UserID>] = [:]
    ) {
        self.version = version
        self.types = types
        self.roleMembers = roleMembers
        for type in RecordTypeDefinition.ofTheSystem where self.types[type.name] == nil {
            self.types[type.name] = type
            implicitTypes.insert(type.name)
        }
    }

    /// The types of the system alone.
    package static let ofTheSystem = Schema()

    /// Returns the record type of a name; nil if there is none.
    package subscript(name: String) -> RecordTypeDefinition? { types[name] }

    /// The names of the custom roles that are declared.
    package var roles: Set<String> { Set(roleMembers.keys) }

    /// Returns the custom roles of a user; none for a caller without an account.
    package func roles(of user: UserID?) -> Set<String> {
        guard let user, !roleMembers.isEmpty else { return [] }
        return Set(roleMembers.filter { $0.value.contains(user) }.keys)
    }

    /// Whether records may hold what devices sealed: encrypted fields, and assets outside the public database.
    package var hasSealedValues: Bool {
        types.values.contains { type in
            type.fields.values.contains { $0.type.isEncrypted || $0.type.base == .asset }
        }
    }
}
