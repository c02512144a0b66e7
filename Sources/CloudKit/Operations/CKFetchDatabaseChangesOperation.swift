import CloudKitClient
import CloudKitModel
import Foundation

/// Fetches which zones of a private or shared database have changed (B-CHG-01).
// Restates what `Operation` declares, see `CKOperation`.
open class CKFetchDatabaseChangesOperation: CKDatabaseOperation, @unchecked Sendable {
    /// nil: from the beginning (B-CHG-02).
    open var previousServerChangeToken: CKServerChangeToken?
    /// An upper bound for one page; 0: the server decides (B-CHG-12).
    open var resultsLimit = 0
    /// A Boolean value that indicates whether the operation continues until all changes are fetched; true by default
    /// (B-CHG-11).
    open var fetchAllChanges = true

    /// The closure called with each zone that has changes.
    open var recordZoneWithIDChangedBlock: ((CKRecordZone.ID) -> Void)?
    /// The closure called with each zone that was deleted.
    open var recordZoneWithIDWasDeletedBlock: ((CKRecordZone.ID) -> Void)?
    /// The user removed the app's data; without this block the one for deletions is called (B-ZN-09).
    open var recordZoneWithIDWasPurgedBlock: ((CKRecordZone.ID) -> Void)?
    /// The user lost and reset the keys; without this block the one for deletions is called (B-ZN-09).
    open var recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock: ((CKRecordZone.ID) -> Void)?
    /// The closure called after each page, when all changes are fetched, with the token that covers everything reported
    /// so far (B-CHG-11).
    open var changeTokenUpdatedBlock: ((CKServerChangeToken) -> Void)?
    /// The closure called at the end with the token for the next fetch.
    open var fetchDatabaseChangesResultBlock:
        ((Result<(serverChangeToken: CKServerChangeToken, moreComing: Bool), any Error>) -> Void)?
    /// The older block for the whole.
    open var fetchDatabaseChangesCompletionBlock: ((CKServerChangeToken?, Bool, (any Error)?) -> Void)?

    private var last: (serverChangeToken: CKServerChangeToken, moreComing: Bool)?

    /// Creates an operation without arguments; set its properties before it is added to a database or container.
    public override init() { super.init() }

    /// Creates an operation that fetches the zones that changed since a token; nil: from the beginning.
    public convenience init(previousServerChangeToken: CKServerChangeToken?) {
        self.init()
        self.previousServerChangeToken = previousServerChangeToken
    }

    override var longLivedArguments: LongLivedArguments? {
        .databaseChanges(
            token: previousServerChangeToken?.token, limit: resultsLimit, fetchesAll: fetchAllChanges)
    }

    override func prepare() throws(CallFailure) -> @Sendable () async throws -> Void {
        let requests = requests()
        try requests.scope.checkHasFeed()
        let request = DatabaseChangesRequest(
            syncToken: previousServerChangeToken?.token, resultsLimit: resultsLimit.positiveOrNil)
        let fetchAllChanges = fetchAllChanges
        return {
            var request = request
            while true {
                try Task.checkCancellation()
                let page = try await requests.databaseChanges(request)
                await self.deliver { self.report(page, isOneOfAll: fetchAllChanges) }
                guard fetchAllChanges, page.moreComing else { return }
                request.syncToken = page.syncToken
            }
        }
    }

    private func report(_ page: DatabaseChangesPage, isOneOfAll: Bool) {
        for event in page.events {
            switch event {
            case .changed(let id, _): recordZoneWithIDChangedBlock?(CKRecordZone.ID(id))
            case .deleted(let id, let reason): block(for: reason)?(CKRecordZone.ID(id))
            }
        }
        let token = CKServerChangeToken(page.syncToken)
        last = (token, page.moreComing)
        if isOneOfAll { changeTokenUpdatedBlock?(token) }
    }

    private func block(for reason: ZoneDeletionReason) -> ((CKRecordZone.ID) -> Void)? {
        switch reason {
        case .deleted: recordZoneWithIDWasDeletedBlock
        case .purged: recordZoneWithIDWasPurgedBlock ?? recordZoneWithIDWasDeletedBlock
        case .encryptedDataReset:
            recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock ?? recordZoneWithIDWasDeletedBlock
        }
    }

    override func conclude(_ failure: CallFailure?) {
        if let last, failure == nil {
            fetchDatabaseChangesCompletionBlock?(last.serverChangeToken, last.moreComing, nil)
            fetchDatabaseChangesResultBlock?(.success(last))
        } else {
            let error = CKError(failure ?? .cancelled)
            fetchDatabaseChangesCompletionBlock?(last?.serverChangeToken, last?.moreComing ?? false, error)
            fetchDatabaseChangesResultBlock?(.failure(error))
        }
    }
}
