import CloudKitClient
import CloudKitModel
import Foundation

/// Creates and deletes zones of the private database (B-ZN-05).
///
/// Saving a zone that exists changes nothing (B-ZN-06); deleting one deletes its records (B-ZN-08).
// Restates what `Operation` declares, see `CKOperation`.
open class CKModifyRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
    /// The zones to save.
    open var recordZonesToSave: [CKRecordZone]?
    /// The zones to delete, with all their records.
    open var recordZoneIDsToDelete: [CKRecordZone.ID]?

    /// The closure called with the result of each zone to save.
    open var perRecordZoneSaveBlock: ((CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)?
    /// The closure called with the result of each zone to delete.
    open var perRecordZoneDeleteBlock: ((CKRecordZone.ID, Result<Void, any Error>) -> Void)?
    /// The closure called at the end; it fails only when the operation as a whole failed.
    open var modifyRecordZonesResultBlock: ((Result<Void, any Error>) -> Void)?
    /// The older block for the whole.
    open var modifyRecordZonesCompletionBlock: (([CKRecordZone]?, [CKRecordZone.ID]?, (any Error)?) -> Void)?

    private var saved: [CKRecordZone] = []
    private var deleted: [CKRecordZone.ID] = []
    private var errors: [AnyHashable: any Error] = [:]

    /// Creates an operation without arguments; set its properties before it is added to a database or container.
    public override init() { super.init() }

    /// Creates an operation that saves and deletes zones.
    public convenience init(recordZonesToSave: [CKRecordZone]? = nil, recordZoneIDsToDelete: [CKRecordZone.ID]? = nil) {
        self.init()
        self.recordZonesToSave = recordZonesToSave
        self.recordZoneIDsToDelete = recordZoneIDsToDelete
    }

    override var longLivedArguments: LongLivedArguments? {
        .modifyZones(
            saves: (recordZonesToSave ?? []).map(\.zoneID.content),
            deletes: (recordZoneIDsToDelete ?? []).map(\.content))
    }

    override func prepare() throws(CallFailure) -> @Sendable () async throws -> Void {
        let requests = requests()
        let plan = try ZoneModification(
            saving: recordZonesToSave ?? [], deleting: recordZoneIDsToDelete ?? [])
        return {
            let outcomes = try await requests.modify(plan)
            await self.deliver { for outcome in outcomes { self.report(outcome) } }
        }
    }

    private func report(_ outcome: ZoneItemOutcome) {
        let id = CKRecordZone.ID(outcome.operation.zoneID)
        switch outcome.operation {
        case .create: reportSave(id, outcome.result.asZone(id, .savingZone(id)))
        case .delete: reportDeletion(id, outcome.result.map { _ in () }.asError(.deletingZone(id)))
        case .raiseKeyEpoch: break
        }
    }

    private func reportSave(_ id: CKRecordZone.ID, _ result: Result<CKRecordZone, any Error>) {
        switch result {
        case .success(let zone): saved.append(zone)
        case .failure(let error): errors[id] = error
        }
        perRecordZoneSaveBlock?(id, result)
    }

    private func reportDeletion(_ id: CKRecordZone.ID, _ result: Result<Void, any Error>) {
        switch result {
        case .success: deleted.append(id)
        case .failure(let error): errors[id] = error
        }
        perRecordZoneDeleteBlock?(id, result)
    }

    override func conclude(_ failure: CallFailure?) {
        if let failure {
            let error = CKError(failure)
            modifyRecordZonesCompletionBlock?(saved, deleted, error)
            modifyRecordZonesResultBlock?(.failure(error))
        } else {
            modifyRecordZonesCompletionBlock?(saved, deleted, CKError.partial(errors, operation: "modify some zones"))
            modifyRecordZonesResultBlock?(.success(()))
        }
    }
}
