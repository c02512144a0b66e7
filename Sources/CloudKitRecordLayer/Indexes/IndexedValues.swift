import CloudKitModel

/// A record's values under the names by which indexes and queries know them; JSON is read when asked for.
struct IndexedValues {
    private let record: StoredRecord
    private let fields: [Field]

    /// - Parameter names: The fields that will be asked for; nil: any.
    init(_ record: StoredRecord, names: Set<String>? = nil) throws {
        self.record = record
        fields = try record.fields(names)
    }

    /// - Parameter fields: The record's fields, all of them.
    init(_ record: StoredRecord, fields: [Field]) {
        self.record = record
        self.fields = fields
    }

    /// nil where the record has no such value.
    ///
    /// - Throws: `internalError` if a stored field was damaged.
    func value(of field: IndexedField) throws -> FieldValue? {
        if let system = field.systemField { return value(of: system) }
        guard let stored = stored(field), !stored.type.isEncrypted else { return nil }
        return try stored.value()
    }

    /// Returns the words of a field that index entries hold.
    ///
    /// - Throws: `internalError` if a stored field was damaged.
    func words(of field: IndexedField, _ prepared: PreparedWords) throws -> Set<String> {
        if field.systemField == nil, let stored = stored(field),
            let words = prepared.words(of: stored, recordName: record.name)
        {
            return words
        }
        return try value(of: field)?.indexedWords ?? []
    }

    /// Returns the beginning of a text as the entry of its value holds it, if it was found before.
    func beginning(of field: IndexedField, _ prepared: PreparedWords) -> String? {
        guard field.systemField == nil, let stored = stored(field), !stored.type.isEncrypted else { return nil }
        return prepared.beginning(of: stored, recordName: record.name)
    }

    private func stored(_ field: IndexedField) -> Field? {
        // Fields are sorted and few; comparing bytes is cheaper than hashing names.
        fields.first { $0.name == field.name }
    }

    /// Whether the field's entries are the same in both, as far as can be seen without reading JSON.
    func agrees(with other: IndexedValues, in field: IndexedField) -> Bool {
        if let system = field.systemField { return value(of: system) == other.value(of: system) }
        return stored(field) == other.stored(field)
    }

    private func value(of field: QueryKey.SystemField) -> FieldValue? {
        switch field {
        case .recordName: .name(record.name)
        case .share: record.share.map(FieldValue.name)
        case .parent: record.parent.map(FieldValue.name)
        case .createdUserRecordName: .name(record.created.user.recordName)
        case .modifiedUserRecordName: .name(record.modified.user.recordName)
        case .createdTimestamp: .timestamp(record.created.timestamp)
        case .modifiedTimestamp: .timestamp(record.modified.timestamp)
        }
    }
}

extension FieldValue {
    static func name(_ recordName: String) -> FieldValue { .reference(ReferenceValue(recordName: recordName)) }
}
