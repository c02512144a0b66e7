import CloudKitModel
import CloudKitRecordLayer

/// The effect of one operation on the store, unless another operation of its batch prevents it.
enum PlannedChange: Sendable {
    case save(PlannedSave)
    case delete(PlannedDeletion)
    /// A deletion of a record that does not exist.
    case alreadyGone
    case failed(RequestFailure)

    var failure: RequestFailure? { if case .failed(let failure) = self { failure } else { nil } }
}

/// A record as it will be saved.
struct PlannedSave: Sendable {
    /// The stored value under the name: the record, or a tombstone of an earlier one.
    let previous: StoredRecord?
    let recordType: String
    let fields: [Field]
    let parent: String?
    var shortGUID: String?
    /// The share whose root the record is.
    var share: String?
    let protection: Protection?
    /// References that the operation sets, and all of them before and after it.
    let set: [BackReference]
    let before: Set<BackReference>
    let after: Set<BackReference>

    /// The record as it was; nil when it is new.
    var held: StoredRecord? { previous.flatMap { $0.isTombstone ? nil : $0 } }

    var added: Set<BackReference> { after.subtracting(before) }

    /// The approximate size in the store: the header is not counted to the byte.
    var bytes: Int { contentBytes + 8 * fields.count + 128 }

    /// Bytes that count as the record's content (B-LIM-05).
    var contentBytes: Int { Validity.recordBytes(fields) + (protection?.byteCount ?? 0) }
}

/// A record that will go.
struct PlannedDeletion: Sendable {
    let held: StoredRecord
    let references: Set<BackReference>

    init(_ held: StoredRecord) throws {
        self.held = held
        references = try held.backReferences()
    }
}

extension StoredRecord {
    /// Returns the references that this record holds and that the store keeps track of.
    func backReferences() throws -> Set<BackReference> {
        let parent = parent.map(ParentChange.set(recordName:)) ?? .keep
        return Set(try IncomingChange.references(of: try fields(ofType: .reference), parent, holder: name))
    }
}
