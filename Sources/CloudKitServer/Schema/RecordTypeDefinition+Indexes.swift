import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

extension RecordTypeDefinition {
    /// The type as indexes and queries see it.
    package var recordIndexes: RecordIndexes {
        let own = fields.map { name, field in
            IndexedField(
                name: name, type: field.type, marks: IndexMarks(field.indexes), building: IndexMarks(field.building))
        }
        let system = systemIndexes.map { field, indexes in
            IndexedField(
                field, marks: IndexMarks(indexes), building: IndexMarks(systemBuilding[field] ?? []))
        }
        return RecordIndexes(recordType: name, fields: own + system)
    }
}

extension IndexMarks {
    fileprivate init(_ indexes: FieldIndexes) { self.init(rawValue: indexes.rawValue) }
}
