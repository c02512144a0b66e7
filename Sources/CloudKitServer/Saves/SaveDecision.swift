import CloudKitModel

/// The outcome of saving one record, decided before anything is written.
package enum SaveDecision: Hashable, Sendable {
    case create
    /// - Parameter replacing: Whether fields that were not sent go (B-BAT-12); else they stay (B-SAV-06).
    case update(replacing: Bool)
    case refuse(RequestFailure)

    /// The record that a zone holds under a name.
    package struct Held: Hashable, Sendable {
        /// The change tag of the record.
        package var tag: ChangeTag
        /// The type of the record.
        package var recordType: String

        /// Creates the summary of a stored record.
        package init(tag: ChangeTag, recordType: String) {
            self.tag = tag
            self.recordType = recordType
        }
    }

    /// Decides the save of a record by the stored one.
    ///
    /// Rules B-SAV-01 to B-SAV-06, B-BAT-12, B-REC-10, and the table of docs/web-services.md §6.1.
    ///
    /// - Parameters:
    ///   - kind: A kind of operation that saves.
    ///   - recordType: nil: not sent, although a new record requires it.
    ///   - held: nil: there is no such record.
    package init(_ kind: RecordOperation.Kind, tag: ChangeTag?, recordType: String?, held: Held?) {
        guard let held else {
            self = Self(missing: kind, recordType: recordType)
            return
        }
        if kind == .create {
            self = .refuse(.recordExists)
        } else if kind.checksTag, tag != held.tag {
            self = .refuse(.staleTag)
        } else if let recordType, recordType != held.recordType {
            self = .refuse(.otherType)
        } else {
            self = .update(replacing: kind == .replace || kind == .forceReplace)
        }
    }

    private init(missing kind: RecordOperation.Kind, recordType: String?) {
        if kind.checksTag {
            self = .refuse(.taggedRecordNotFound)
        } else if recordType == nil {
            self = .refuse(.noRecordType)
        } else {
            self = .create
        }
    }
}

/// The outcome of deleting one record.
package enum DeletionDecision: Hashable, Sendable {
    case delete
    /// There is nothing to delete, which counts as success (B-SAV-11).
    case alreadyGone
    case refuse(RequestFailure)

    /// - Parameter kind: A verb that deletes.
    package init(_ kind: RecordOperation.Kind, tag: ChangeTag?, held: ChangeTag?) {
        guard let held else {
            self = kind == .forceDelete ? .alreadyGone : .refuse(.recordNotFound)
            return
        }
        self = kind == .delete && tag != held ? .refuse(.staleTag) : .delete
    }
}

extension RequestFailure {
    /// B-SAV-03.
    static let recordExists = RequestFailure(
        .recordExists, "record to insert already exists", remedy: "Merge into the server's record and save that.")

    /// B-SAV-02.
    static let staleTag = RequestFailure(
        .conflict, "client oplock error updating record", remedy: "Merge into the server's record and save that.")

    /// B-SAV-04.
    static let taggedRecordNotFound = RequestFailure(
        .itemNotFound, "recordChangeTag specified, but record not found",
        remedy: "Save the record without the change tag to create it again.")

    /// B-REC-13.
    static let recordNotFound = RequestFailure(.itemNotFound, "Record not found")

    /// B-REC-10.
    static let otherType = RequestFailure(
        .badRequest, "the record exists with another record type",
        remedy: "Use another record name, or delete the record first.")

    static let noRecordType = RequestFailure(
        .badRequest, "BadRequestException: missing required field 'recordType'",
        remedy: "Say which type the new record has.")
}
