import CloudKitClient
import CloudKitModel
import Foundation

/// Saves and deletes records, at most 400 in one operation (B-LIM-01).
///
/// The items of each zone take effect together or not at all where the zone supports that (B-BAT-01). The result blocks
/// report the result of each item and end in success when every item was answered; the older completion block reports
/// failed items as `partialFailure` (B-BAT-03, B-BAT-05).
// Restates what `Operation` declares, see `CKOperation`.
open class CKModifyRecordsOperation: CKDatabaseOperation, @unchecked Sendable {
    /// The fields that a save sends, and the comparison with the server's record.
    public enum RecordSavePolicy: Int, Sendable {
        /// Sends what changed; refused when the server holds another version (B-SAV-02).
        case ifServerRecordUnchanged = 0
        /// Sends the changed fields, whatever the server holds.
        case changedKeys = 1
        /// Sends all fields, whatever the server holds. Fields that only the server has stay (B-SAV-06).
        case allKeys = 2
    }

    /// The records to save.
    open var recordsToSave: [CKRecord]?
    /// The records to delete.
    open var recordIDsToDelete: [CKRecord.ID]?
    /// The fields to send and the comparison with the server's record; by default a save of an outdated record fails.
    open var savePolicy: RecordSavePolicy = .ifServerRecordUnchanged
    /// Remembered with the zone and given back by its next change fetch (B-BAT-11).
    open var clientChangeTokenData: Data?
    /// A Boolean value that indicates whether the items of each zone take effect together or not at all; true by
    /// default.
    open var isAtomic = true

    /// From 0 to 1, never back: how much of a record's files is uploaded; the last call of a saved record says 1.
    open var perRecordProgressBlock: ((CKRecord, Double) -> Void)?
    /// The closure called with the result of each record to save.
    open var perRecordSaveBlock: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
    /// The closure called with the result of each record to delete.
    open var perRecordDeleteBlock: ((CKRecord.ID, Result<Void, any Error>) -> Void)?
    /// The closure called at the end; it fails only when the operation as a whole failed.
    open var modifyRecordsResultBlock: ((Result<Void, any Error>) -> Void)?
    /// The older block for one saved record.
    open var perRecordCompletionBlock: ((CKRecord, (any Error)?) -> Void)?
    /// The older block for the whole.
    open var modifyRecordsCompletionBlock: (([CKRecord]?, [CKRecord.ID]?, (any Error)?) -> Void)?

    private var modification: RecordModification?
    private var progress: [Int: Double] = [:]
    private var saved: [CKRecord] = []
    private var deleted: [CKRecord.ID] = []
    private var errors: [AnyHashable: any Error] = [:]

    /// Creates an operation without arguments; set its properties before it is added to a database or container.
    public override init() { super.init() }

    /// Creates an operation that saves and deletes records.
    public convenience init(recordsToSave: [CKRecord]? = nil, recordIDsToDelete: [CKRecord.ID]? = nil) {
        self.init()
        self.recordsToSave = recordsToSave
        self.recordIDsToDelete = recordIDsToDelete
    }

    override var longLivedArguments: LongLivedArguments? {
        .modifyRecords(
            saves: (recordsToSave ?? []).map { record in LongLivedArchive.write { record.encode(with: $0) } },
            deletes: (recordIDsToDelete ?? []).map(\.content), policy: savePolicy.rawValue, isAtomic: isAtomic,
            clientChangeToken: clientChangeTokenData)
    }

    override func prepare() throws(CallFailure) -> @Sendable () async throws -> Void {
        let requests = requests()
        let modification = try RecordModification(
            saving: recordsToSave ?? [], deleting: recordIDsToDelete ?? [], rule: savePolicy.rule, isAtomic: isAtomic,
            scope: requests.scope, clientChangeToken: clientChangeTokenData.map(Array.init), address: requests.address)
        self.modification = modification
        let plan = modification.plan
        return {
            try await requests.sendByZone(plan) { index, fraction in
                await self.deliver { self.report(fraction, ofRecordAt: index) }
            } deliver: { outcomes in
                await self.deliver { self.report(outcomes) }
            }
        }
    }

    private func report(_ fraction: Double, ofRecordAt index: Int) {
        // Two files of a record may report progress in either order.
        guard let record = modification?.record(at: index), fraction > progress[index, default: 0] else { return }
        progress[index] = fraction
        perRecordProgressBlock?(record, fraction)
    }

    private func report(_ outcomes: [ModifyItemOutcome]) {
        modification?.resolve(outcomes, saved: { report($0, $1) }, deleted: { report($0, $1) })
    }

    private func report(_ record: CKRecord, _ result: Result<CKRecord, any Error>) {
        switch result {
        case .success(let current):
            saved.append(current)
            perRecordProgressBlock?(current, 1)
            perRecordCompletionBlock?(current, nil)
        case .failure(let error):
            errors[record.recordID] = error
            perRecordCompletionBlock?(record, error)
        }
        perRecordSaveBlock?(record.recordID, result)
    }

    private func report(_ id: CKRecord.ID, _ result: Result<Void, any Error>) {
        switch result {
        case .success: deleted.append(id)
        case .failure(let error): errors[id] = error
        }
        perRecordDeleteBlock?(id, result)
    }

    override func conclude(_ failure: CallFailure?) {
        if let failure {
            let error = CKError(failure)
            modifyRecordsCompletionBlock?(saved, deleted, error)
            modifyRecordsResultBlock?(.failure(error))
        } else {
            modifyRecordsCompletionBlock?(saved, deleted, CKError.partial(errors, operation: "modify some records"))
            modifyRecordsResultBlock?(.success(()))
        }
    }
}

extension CKModifyRecordsOperation.RecordSavePolicy {
    var rule: SaveRule { SaveRule(checksTag: self == .ifServerRecordUnchanged, sendsAllKeys: self == .allKeys) }
}
