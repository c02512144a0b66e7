import CloudKitClient
import CloudKitModel
import Foundation

/// Fetches records by identifier, up to 400 together (B-LIM-01).
///
/// A missing record is that item's `unknownItem` (B-REC-13); the operation as a whole then still succeeds for the
/// result block, and is a `partialFailure` for the older completion block.
// Restates what `Operation` declares, see `CKOperation`.
open class CKFetchRecordsOperation: CKDatabaseOperation, @unchecked Sendable {
    /// The records to fetch.
    open var recordIDs: [CKRecord.ID]?
    /// The fields to fetch; nil: all, empty: only the record's metadata (B-REC-08).
    open var desiredKeys: [CKRecord.FieldKey]?

    /// From 0 to 1, never back: how much of a record's files has come; the last call of a fetched record says 1.
    open var perRecordProgressBlock: ((CKRecord.ID, Double) -> Void)?
    /// The closure called with the result of each record.
    open var perRecordResultBlock: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
    /// The closure called at the end; it fails only when the operation as a whole failed.
    open var fetchRecordsResultBlock: ((Result<Void, any Error>) -> Void)?
    /// The older block for one record.
    open var perRecordCompletionBlock: ((CKRecord?, CKRecord.ID?, (any Error)?) -> Void)?
    /// The older block for the whole.
    open var fetchRecordsCompletionBlock: (([CKRecord.ID: CKRecord]?, (any Error)?) -> Void)?

    private var isForCurrentUser = false
    private var progress: [CKRecord.ID: Double] = [:]
    private var fetched: [CKRecord.ID: CKRecord] = [:]
    private var errors: [AnyHashable: any Error] = [:]

    /// Creates an operation without arguments; set its properties before it is added to a database.
    public required override init() { super.init() }

    /// Creates an operation that fetches records.
    public convenience init(recordIDs: [CKRecord.ID]) {
        self.init()
        self.recordIDs = recordIDs
    }

    /// Fetches the user's own record (B-USR-02).
    open class func fetchCurrentUserRecordOperation() -> Self {
        let operation = self.init()
        operation.isForCurrentUser = true
        return operation
    }

    override var longLivedArguments: LongLivedArguments? {
        .fetchRecords(
            (recordIDs ?? []).map(\.content), desiredKeys: desiredKeys, isForCurrentUser: isForCurrentUser)
    }

    override func prepare() throws(CallFailure) -> @Sendable () async throws -> Void {
        let requests = requests()
        let ids = (recordIDs ?? []).map(\.model)
        try RequestLimits.check(items: ids.count)
        let desiredKeys = desiredKeys
        let isForCurrentUser = isForCurrentUser
        return {
            var ids = ids
            if isForCurrentUser {
                ids = [RecordID(recordName: try await requests.currentUser().recordName, zoneID: .default)]
            }
            try await requests.lookup(ids, desiredKeys: desiredKeys) { id, fraction in
                await self.deliver { self.report(fraction, of: CKRecord.ID(id)) }
            } deliver: { items in
                await self.deliver { for item in items { self.report(item) } }
            }
        }
    }

    private func report(_ fraction: Double, of id: CKRecord.ID) {
        // Two files of a record may report progress in either order.
        guard fraction > progress[id, default: 0] else { return }
        progress[id] = fraction
        perRecordProgressBlock?(id, fraction)
    }

    private func report(_ item: FetchedItem) {
        let id = CKRecord.ID(item.id)
        let result = item.asRecord()
        switch result {
        case .success(let record):
            fetched[id] = record
            perRecordProgressBlock?(id, 1)
            perRecordCompletionBlock?(record, id, nil)
        case .failure(let error):
            errors[id] = error
            perRecordCompletionBlock?(nil, id, error)
        }
        perRecordResultBlock?(id, result)
    }

    override func conclude(_ failure: CallFailure?) {
        if let failure {
            let error = CKError(failure)
            fetchRecordsCompletionBlock?(fetched, error)
            fetchRecordsResultBlock?(.failure(error))
        } else {
            fetchRecordsCompletionBlock?(fetched, CKError.partial(errors, operation: "fetch some records"))
            fetchRecordsResultBlock?(.success(()))
        }
    }
}
