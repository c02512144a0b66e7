import CloudKitClient
import CloudKitModel
import Foundation

/// The records of a modification before and after the request; maps outcomes to the app's records.
///
/// Stays with the caller that holds the records; only its plan is sent.
struct RecordModification {
    /// One item as the app sees it.
    enum Item {
        /// The record as the app provided it, and the result.
        case saved(CKRecord, Result<CKRecord, any Error>)
        case deleted(CKRecord.ID, Result<Void, any Error>)
    }

    let plan: ModifyPlan
    private let records: [CKRecord]
    /// The records as they were sent, for conflicts and for edits made meanwhile.
    private let sent: [SentRecord]
    private let recordIDs: [CKRecord.ID]
    private let address: DatabaseAddress?

    /// - Throws: `CallFailure.limitExceeded`, `.invalidArguments` (B-LIM-01, B-BAT-07, B-BAT-08).
    init(
        saving records: [CKRecord], deleting recordIDs: [CKRecord.ID],
        rule: SaveRule, isAtomic: Bool, scope: DatabaseScope,
        clientChangeToken: [UInt8]? = nil, address: DatabaseAddress? = nil
    ) throws(CallFailure) {
        self.address = address
        self.records = records
        self.recordIDs = recordIDs
        var sent: [SentRecord] = []
        for record in records { sent.append(try SentRecord(record, rule, scope: scope)) }
        self.sent = sent
        plan = try ModifyPlan(
            saves: sent.map(\.save), deletes: recordIDs.map(\.model), isAtomic: isAtomic, scope: scope,
            clientChangeToken: clientChangeToken)
    }

    /// The app's own object at a place of the list to save.
    func record(at index: Int) -> CKRecord { records[index] }

    /// Turns an outcome into the app's result and updates the app's own record (B-REC-07).
    func resolve(_ outcome: ModifyItemOutcome) -> Item {
        switch outcome.item {
        case .save(let index):
            .saved(records[index], sent[index].resolve(outcome, records[index], in: address))
        case .delete(let index):
            .deleted(recordIDs[index], outcome.result.map { _ in () }.asError(.deletingRecord(recordIDs[index])))
        }
    }
}
