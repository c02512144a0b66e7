import CloudKitClient
import CloudKitModel
import Foundation

/// Fetches which records of some zones have changed, one zone after the other (B-CHG-13).
///
/// A zone that fails does not stop the others; the older completion block then gets a `partialFailure` by zone.
// Restates what `Operation` declares, see `CKOperation`.
open class CKFetchRecordZoneChangesOperation: CKDatabaseOperation, @unchecked Sendable {
    /// The token, limit and keys for one zone.
    public typealias ZoneConfiguration = CKFetchRecordZoneChangesConfiguration
    /// The older name of `ZoneConfiguration`.
    @available(*, deprecated, renamed: "ZoneConfiguration")
    public typealias ZoneOptions = CKFetchRecordZoneChangesConfiguration

    /// The zones whose changes are fetched; nil: those that have a configuration.
    open var recordZoneIDs: [CKRecordZone.ID]?
    /// The token, limit and keys of single zones; a zone that is not in here is fetched from the beginning.
    open var configurationsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]?
    /// A Boolean value that indicates whether the operation continues in each zone until all changes are fetched; true
    /// by default (B-CHG-11).
    open var fetchAllChanges = true

    /// The closure called with each changed record, or the error with which it cannot be opened.
    open var recordWasChangedBlock: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
    /// The closure called with the identifier and the type of each deleted record.
    open var recordWithIDWasDeletedBlock: ((CKRecord.ID, CKRecord.RecordType) -> Void)?
    /// The closure called after each page, when all changes are fetched, with the token that covers everything reported
    /// so far (B-CHG-11) and the client change token of the zone's last save (B-BAT-11).
    open var recordZoneChangeTokensUpdatedBlock: ((CKRecordZone.ID, CKServerChangeToken?, Data?) -> Void)?
    /// The closure called at the end of each zone with its token, or its error.
    open var recordZoneFetchResultBlock:
        (
            (
                CKRecordZone.ID,
                Result<
                    (serverChangeToken: CKServerChangeToken, clientChangeTokenData: Data?, moreComing: Bool), any Error
                >
            ) -> Void
        )?
    /// The closure called at the end; it fails only when the operation as a whole failed.
    open var fetchRecordZoneChangesResultBlock: ((Result<Void, any Error>) -> Void)?
    /// The older block for one changed record.
    open var recordChangedBlock: ((CKRecord) -> Void)?
    /// The older block for one zone.
    open var recordZoneFetchCompletionBlock:
        ((CKRecordZone.ID, CKServerChangeToken?, Data?, Bool, (any Error)?) -> Void)?
    /// The older block for the whole.
    open var fetchRecordZoneChangesCompletionBlock: (((any Error)?) -> Void)?

    private var errors: [AnyHashable: any Error] = [:]

    /// Creates an operation without arguments; set its properties before it is added to a database or container.
    public override init() { super.init() }

    /// Creates an operation that fetches the changes of zones.
    public convenience init(
        recordZoneIDs: [CKRecordZone.ID]? = nil,
        configurationsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]? = nil
    ) {
        self.init()
        self.recordZoneIDs = recordZoneIDs
        self.configurationsByRecordZoneID = configurationsByRecordZoneID
    }

    /// The older spelling of `init(recordZoneIDs:configurationsByRecordZoneID:)`.
    @available(*, deprecated, renamed: "init(recordZoneIDs:configurationsByRecordZoneID:)")
    public convenience init(
        recordZoneIDs: [CKRecordZone.ID], optionsByRecordZoneID: [CKRecordZone.ID: ZoneOptions]?
    ) {
        self.init(recordZoneIDs: recordZoneIDs, configurationsByRecordZoneID: optionsByRecordZoneID)
    }

    /// The older spelling of `configurationsByRecordZoneID`.
    @available(*, deprecated, renamed: "configurationsByRecordZoneID")
    open var optionsByRecordZoneID: [CKRecordZone.ID: ZoneOptions]? {
        get { configurationsByRecordZoneID }
        set { configurationsByRecordZoneID = newValue }
    }

    override var longLivedArguments: LongLivedArguments? {
        .zoneChanges(
            zoneRequests().map { request in
                LongLivedArguments.ZoneStart(
                    zone: CKRecordZone.ID(request.zoneID).content, token: request.syncToken,
                    limit: request.resultsLimit ?? 0, desiredKeys: request.desiredKeys)
            }, fetchesAll: fetchAllChanges)
    }

    override func prepare() throws(CallFailure) -> @Sendable () async throws -> Void {
        let requests = requests()
        try requests.scope.checkHasFeed()
        let zones = zoneRequests()
        let fetchAllChanges = fetchAllChanges
        return {
            var end: CallFailure?
            for (index, zone) in zones.enumerated() {
                do {
                    try Task.checkCancellation()
                    if let end { throw end }
                    try await self.fetch(zone, all: fetchAllChanges, requests)
                } catch {
                    let failure = Task.isCancelled ? .cancelled : CallFailure(error)
                    if failure.concernsConnection { end = failure }
                    // Nothing was learned about any zone; the operation says so itself.
                    if failure == .cancelled || (index == 0 && end != nil) { throw failure }
                    await self.deliver { self.report(failure, zone.zoneID) }
                }
            }
        }
    }

    private func zoneRequests() -> [ZoneChangesRequest] {
        let configurations = configurationsByRecordZoneID ?? [:]
        var seen: Set<CKRecordZone.ID> = []
        let zoneIDs = recordZoneIDs ?? Array(configurations.keys)
        return zoneIDs.filter { seen.insert($0).inserted }.map { zoneID in
            let configuration = configurations[zoneID]
            return ZoneChangesRequest(
                zoneID: zoneID.model, syncToken: configuration?.previousServerChangeToken?.token,
                resultsLimit: configuration?.resultsLimit.positiveOrNil, desiredKeys: configuration?.desiredKeys)
        }
    }

    private func fetch(_ zone: ZoneChangesRequest, all: Bool, _ requests: DatabaseRequests) async throws {
        var page = try await requests.sealedChanges(zone)
        while true {
            try Task.checkCancellation()
            let isLast = !(all && page.moreComing)
            // The next page comes while this one is opened and reported.
            let current = page
            async let following = isLast ? nil : requests.sealedChanges(after: current)
            let opened = try await requests.opened(current)
            // A page whose files cannot be fetched without a network counts as not fetched: its token is not reported.
            let events = try await requests.withFiles(opened.events)
            await deliver { self.report(opened, events: events, in: zone.zoneID, isOneOfAll: all, isLast: isLast) }
            guard !isLast else { return }
            try Task.checkCancellation()
            if let next = try await following {
                page = next
            } else {
                var request = zone
                request.syncToken = opened.syncToken
                page = try await requests.sealedChanges(request)
            }
        }
    }

    private func report(
        _ page: OpenedChanges, events: [OpenedChanges.Event], in zone: ZoneID, isOneOfAll: Bool, isLast: Bool
    ) {
        let zoneID = CKRecordZone.ID(zone)
        for event in events {
            switch event {
            case .changed(let item):
                let result = item.asRecord()
                if case .success(let record) = result { recordChangedBlock?(record) }
                recordWasChangedBlock?(CKRecord.ID(item.id), result)
            case .deleted(let tombstone):
                recordWithIDWasDeletedBlock?(
                    CKRecord.ID(RecordID(recordName: tombstone.recordName, zoneID: zone)), tombstone.recordType ?? "")
            }
        }
        let token = CKServerChangeToken(page.syncToken)
        let clientToken = page.clientChangeToken.map { Data($0) }
        if isOneOfAll { recordZoneChangeTokensUpdatedBlock?(zoneID, token, clientToken) }
        guard isLast else { return }
        recordZoneFetchCompletionBlock?(zoneID, token, clientToken, page.moreComing, nil)
        recordZoneFetchResultBlock?(zoneID, .success((token, clientToken, page.moreComing)))
    }

    private func report(_ failure: CallFailure, _ zone: ZoneID) {
        let zoneID = CKRecordZone.ID(zone)
        let error = CKError(failure)
        errors[zoneID] = error
        recordZoneFetchCompletionBlock?(zoneID, nil, nil, false, error)
        recordZoneFetchResultBlock?(zoneID, .failure(error))
    }

    override func conclude(_ failure: CallFailure?) {
        if let failure {
            let error = CKError(failure)
            fetchRecordZoneChangesCompletionBlock?(error)
            fetchRecordZoneChangesResultBlock?(.failure(error))
        } else {
            fetchRecordZoneChangesCompletionBlock?(CKError.partial(errors, operation: "fetch some record zone changes"))
            fetchRecordZoneChangesResultBlock?(.success(()))
        }
    }
}
