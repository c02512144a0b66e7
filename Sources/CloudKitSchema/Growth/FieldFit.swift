import CloudKitModel

/// The agreement of one field of a record that is being saved with the schema.
package enum FieldFit: Hashable, Sendable {
    /// It can be stored; a guessed type has become the schema's.
    case fits(Field)
    /// The schema has no such field yet.
    case isNew(FieldDefinition)
    case refuse(RequestFailure)

    /// Weighs a field against its definition.
    ///
    /// Rules B-REC-11, B-REC-12, B-ENC-03, B-SCH-02, B-LIM-12, B-LIM-14.
    package init(_ field: Field, of recordType: String, defined: FieldDefinition?, in environment: Environment) {
        if let defined {
            self = Self(field, of: recordType, defined: defined.type)
        } else if let fault = Self.fault(ofName: field.name, recordType) {
            self = .refuse(fault)
        } else if field.isEmptyList {
            self = .refuse(
                RequestFailure(
                    .schemaMismatch, "cannot use an empty list to initialize a new field",
                    remedy: "Save the field with an element first, or leave it out."))
        } else if environment == .production {
            self = .refuse(
                RequestFailure(
                    .schemaMismatch,
                    "Cannot create or modify field '\(field.name)' in record '\(recordType)' in production schema",
                    remedy: "Add the field in development and run: welkin schema deploy CONTAINER"))
        } else {
            self = .isNew(FieldDefinition(justInTime: field.type))
        }
    }

    private static func fault(ofName name: String, _ recordType: String) -> RequestFailure? {
        do throws(RequestFailure) {
            try Validity.fieldName(name, ofType: recordType)
            return nil
        } catch {
            return error
        }
    }

    private init(_ field: Field, of recordType: String, defined: FieldType) {
        if field.type == defined {
            self = .fits(field)
        } else if let fitting = field.coerced(to: defined) {
            self = .fits(fitting)
        } else if field.type.isEncrypted, !defined.isEncrypted {
            // B-ENC-03; docs/web-services.md §4.3.
            self = .refuse(
                RequestFailure(
                    .schemaMismatch, "Attempt to save encrypted data in non encrypted field type",
                    remedy: "A field that is not encrypted stays so: use another field, '\(field.name)' is taken."))
        } else {
            self = .refuse(
                RequestFailure(
                    .schemaMismatch,
                    "invalid attempt to set value type \(field.type.description) for field '\(field.name)' for type "
                        + "'\(recordType)', defined to be: \(defined.description)",
                    remedy: "Save a value of the field's type, or use another field."))
        }
    }
}
