import CloudKitModel

/// Which questions a field can answer (B-QRY-14); the raw values are those of the schema's `FieldIndexes`.
package struct IndexMarks: OptionSet, Hashable, Sendable {
    /// The value as it is stored and sent.
    package let rawValue: UInt8

    /// Creates the value from its stored form.
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Equality, membership, list tests.
    package static let queryable = IndexMarks(rawValue: 1)
    /// Ordering and ranges.
    package static let sortable = IndexMarks(rawValue: 2)
    /// Full text.
    package static let searchable = IndexMarks(rawValue: 4)
}

/// A field of a record type, or one of the record's own attributes, as indexes and queries see it.
package struct IndexedField: Hashable, Sendable {
    /// Attributes go by their schema name, `___createTime` and so on.
    package var name: String
    /// The type of the field.
    package var type: FieldType
    /// The indexes that every save keeps up to date.
    package var marks: IndexMarks
    /// The members of `marks` that do not cover older records yet: queries may not use them (B-SCH-07).
    package var building: IndexMarks

    /// Creates a value with the given properties.
    package init(name: String, type: FieldType, marks: IndexMarks, building: IndexMarks = []) {
        self.name = name
        self.type = type
        self.marks = marks
        self.building = building
    }

    /// Creates the field of an attribute that every record has.
    package init(_ field: QueryKey.SystemField, marks: IndexMarks, building: IndexMarks = []) {
        self.init(name: field.schemaName, type: field.fieldType, marks: marks, building: building)
    }

    /// The indexes that a query may use.
    package var usable: IndexMarks { marks.subtracting(building) }

    /// The attribute of the record that this is; nil for a field.
    var systemField: QueryKey.SystemField? {
        guard name.utf8.starts(with: "___".utf8) else { return nil }
        return QueryKey.SystemField(schemaName: name)
    }
}

extension QueryKey.SystemField {
    /// The type that the attribute is compared as (B-QRY-13).
    package var fieldType: FieldType {
        switch self {
        case .recordName, .share, .parent, .createdUserRecordName, .modifiedUserRecordName: .reference
        case .createdTimestamp, .modifiedTimestamp: .timestamp
        }
    }
}

/// All that can be asked about the records of one type.
package struct RecordIndexes: Hashable, Sendable {
    /// The record type.
    package let recordType: String
    /// Every field of the type, indexed or not, and the attributes that are indexed; sorted by name.
    package let fields: [IndexedField]

    /// Creates a value with the given properties.
    package init(recordType: String, fields: [IndexedField]) {
        self.recordType = recordType
        self.fields = fields.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    /// Returns the field of a name; nil if the type has none.
    package subscript(name: String) -> IndexedField? { fields.first { $0.name == name } }

    /// Whether a query could use any index of the type.
    var isQueryable: Bool { fields.contains { !$0.marks.isEmpty } }

    var searchableFields: [IndexedField] { fields.filter { $0.usable.contains(.searchable) } }
}
