import CloudKitClient
import CloudKitModel
import Foundation

/// Fetches one page of what has changed in one zone: the predecessor of ``CKFetchRecordZoneChangesOperation``.
// Restates what `Operation` declares, see `CKOperation`.
@available(*, deprecated, renamed: "CKFetchRecordZoneChangesOperation")
open class CKFetchRecordChangesOperation: CKDatabaseOperation, @unchecked Sendable {
    /// The zone whose changes are fetched.
    open var recordZoneID: CKRecordZone.ID?
    /// nil: from the beginning.
    open var previousServerChangeToken: CKServerChangeToken?
    /// At most so many records; 0: as many as the server gives.
    open var resultsLimit = 0
    /// The fields wanted; nil: all (B-REC-08).
    open var desiredKeys: [CKRecord.FieldKey]?

    /// The closure called with each changed record.
    open var recordChangedBlock: ((CKRecord) -> Void)?
    /// The closure called with the identifier of each deleted record.
    open var recordWithIDWasDeletedBlock: ((CKRecord.ID) -> Void)?
    /// The closure called at the end with the token that covers everything reported, and the client change token of the
    /// zone's last save (B-BAT-11).
    open var fetchRecordChangesCompletionBlock: ((CKServerChangeToken?, Data?, (any Error)?) -> Void)?

    /// A Boolean value that indicates whether the zone has more changes after the new token; valid in the completion
    /// block.
    open private(set) var moreComing = false
    private var token: CKServerChangeToken?
    private var clientToken: Data?

    /// Creates an operation without arguments; set its properties before it is added to a database or container.
    public override init() { super.init() }

    /// Creates an operation that fetches the changes of one zone since a token; nil: from the beginning.
    public convenience init(recordZoneID: CKRecordZone.ID, previousServerChangeToken: CKServerChangeToken?) {
        self.init()
        self.recordZoneID = recordZoneID
        self.previousServerChangeToken = previousServerChangeToken
    }

    override func prepare() throws(CallFailure) -> @Sendable () async throws -> Void {
        let requests = requests()
        try requests.scope.checkHasFeed()
        guard let recordZoneID else { throw .invalidArguments("The operation has no recordZoneID") }
        let request = ZoneChangesRequest(
            zoneID: recordZoneID.model, syncToken: previousServerChangeToken?.token,
            resultsLimit: resultsLimit.positiveOrNil, desiredKeys: desiredKeys)
        return {
            let page = try await requests.zoneChanges(request)
            let events = try await requests.withFiles(page.events)
            await self.deliver { self.report(page, events: events, in: request.zoneID) }
        }
    }

    private func report(_ page: OpenedChanges, events: [OpenedChanges.Event], in zone: ZoneID) {
        for event in events {
            switch event {
            case .changed(let item):
                // This operation cannot report a record that cannot be opened; its successor does.
                if case .success(let record) = item.asRecord() { recordChangedBlock?(record) }
            case .deleted(let tombstone):
                recordWithIDWasDeletedBlock?(CKRecord.ID(RecordID(recordName: tombstone.recordName, zoneID: zone)))
            }
        }
        moreComing = page.moreComing
        token = CKServerChangeToken(page.syncToken)
        clientToken = page.clientChangeToken.map { Data($0) }
    }

    override func conclude(_ failure: CallFailure?) {
        fetchRecordChangesCompletionBlock?(token, clientToken, failure.map { CKError($0) })
    }
}
