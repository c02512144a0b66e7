import CloudKitModel

/// Which questions a field can answer (B-QRY-14).
package struct FieldIndexes: OptionSet, Hashable, Sendable {
    /// The value as it is stored and sent.
    package let rawValue: UInt8

    /// Creates the value from its stored form.
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Equality, membership, list tests.
    package static let queryable = FieldIndexes(rawValue: 1)
    /// Ordering and ranges.
    package static let sortable = FieldIndexes(rawValue: 2)
    /// Full text.
    package static let searchable = FieldIndexes(rawValue: 4)
}

/// A field of a record type: its type and its indexes.
package struct FieldDefinition: Hashable, Sendable {
    /// The type of the field's values.
    package var type: FieldType
    /// The indexes on the field.
    package var indexes: FieldIndexes
    /// The members of `indexes` that do not cover older records yet (B-SCH-07).
    package var building: FieldIndexes

    /// Creates a value with the given properties.
    package init(type: FieldType, indexes: FieldIndexes = [], building: FieldIndexes = []) {
        self.type = type.definite
        self.indexes = indexes
        self.building = building
    }

    /// A field that appears with the first record that has it: indexed for all it can be asked (B-SCH-06).
    package init(justInTime type: FieldType) { self.init(type: type, indexes: type.indexesMax) }
}

extension FieldType {
    /// The same type, no longer a guess.
    package var definite: FieldType { FieldType(base, isList: isList, isEncrypted: isEncrypted) }

    /// Every index a field of this type may have.
    ///
    /// Data, assets and encrypted values have none (B-QRY-06, B-ENC-04).
    package var indexesMax: FieldIndexes {
        if isEncrypted { return [] }
        return switch (base, isList) {
        case (.bytes, _), (.asset, _), (.unknown, _): []
        case (.string, false): [.queryable, .sortable, .searchable]
        case (.string, true): [.queryable, .searchable]
        case (.reference, _), (_, true): [.queryable]
        case (_, false): [.queryable, .sortable]
        }
    }
}
