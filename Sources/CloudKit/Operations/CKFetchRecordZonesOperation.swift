import CloudKitClient
import CloudKitModel
import Foundation

/// Fetches zones by identifier, or all of them (B-ZN-13).
// Restates what `Operation` declares, see `CKOperation`.
open class CKFetchRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
    /// The zones to fetch; not used when the operation fetches all zones of the database.
    open var recordZoneIDs: [CKRecordZone.ID]?

    /// The closure called with the result of each zone.
    open var perRecordZoneResultBlock: ((CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)?
    /// The closure called at the end; it fails only when the operation as a whole failed.
    open var fetchRecordZonesResultBlock: ((Result<Void, any Error>) -> Void)?
    /// The older block for the whole.
    open var fetchRecordZonesCompletionBlock: (([CKRecordZone.ID: CKRecordZone]?, (any Error)?) -> Void)?

    private var isForAll = false
    private var fetched: [CKRecordZone.ID: CKRecordZone] = [:]
    private var errors: [AnyHashable: any Error] = [:]

    /// Creates an operation without arguments; set its properties before it is added to a database.
    public required override init() { super.init() }

    /// Creates an operation that fetches zones.
    public convenience init(recordZoneIDs zoneIDs: [CKRecordZone.ID]) {
        self.init()
        recordZoneIDs = zoneIDs
    }

    /// Fetches every zone of the database.
    open class func fetchAllRecordZonesOperation() -> Self {
        let operation = self.init()
        operation.isForAll = true
        return operation
    }

    override var longLivedArguments: LongLivedArguments? {
        .fetchZones((recordZoneIDs ?? []).map(\.content), isForAll: isForAll)
    }

    override func prepare() throws(CallFailure) -> @Sendable () async throws -> Void {
        let requests = requests()
        let ids = (recordZoneIDs ?? []).map(\.model)
        try RequestLimits.check(items: ids.count)
        let isForAll = isForAll
        return {
            let outcomes: [(ZoneID, Result<Zone, CallFailure>)] =
                isForAll
                ? try await requests.allZones().map { ($0.id, .success($0)) } : try await requests.zones(ids)
            await self.deliver { for (id, result) in outcomes { self.report(CKRecordZone.ID(id), result) } }
        }
    }

    private func report(_ id: CKRecordZone.ID, _ outcome: Result<Zone, CallFailure>) {
        let result = outcome.asZone(id)
        switch result {
        case .success(let zone): fetched[id] = zone
        case .failure(let error): errors[id] = error
        }
        perRecordZoneResultBlock?(id, result)
    }

    override func conclude(_ failure: CallFailure?) {
        if let failure {
            let error = CKError(failure)
            fetchRecordZonesCompletionBlock?(fetched, error)
            fetchRecordZonesResultBlock?(.failure(error))
        } else {
            fetchRecordZonesCompletionBlock?(fetched, CKError.partial(errors, operation: "fetch some record zones"))
            fetchRecordZonesResultBlock?(.success(()))
        }
    }
}
