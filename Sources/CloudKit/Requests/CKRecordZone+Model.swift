import CloudKitClient
import CloudKitModel

extension ZoneModification {
    /// - Throws: As ``init(saving:deleting:)``.
    init(saving zones: [CKRecordZone], deleting ids: [CKRecordZone.ID]) throws(CallFailure) {
        try self.init(
            saving: zones.map { ($0.zoneID.model, $0.encryptionScope.model) }, deleting: ids.map(\.model))
    }
}

extension Result where Success == Zone?, Failure == CallFailure {
    /// The zone as the app sees it, under the identifier by which the app named it.
    func asZone(_ id: CKRecordZone.ID, _ operation: CKError.FailedOperation) -> Result<CKRecordZone, any Error> {
        switch self {
        case .success(let zone?): .success(CKRecordZone(zone))
        case .success(nil): .success(CKRecordZone(zoneID: id))
        case .failure(let failure): .failure(CKError(failure, operation: operation))
        }
    }
}

extension Result where Success == Zone, Failure == CallFailure {
    func asZone(_ id: CKRecordZone.ID) -> Result<CKRecordZone, any Error> {
        asError(.fetchingZone(id)).map { CKRecordZone($0) }
    }
}
