import Foundation

extension _CKDatabaseHandlers {
    /// Fetches every zone, see `allRecordZones()`.
    @preconcurrency
    public func fetchAllRecordZones(completionHandler: @escaping @Sendable ([CKRecordZone]?, (any Error)?) -> Void) {
        let operation = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
        var zones: [CKRecordZone] = []
        operation.perRecordZoneResultBlock = { _, result in
            if case .success(let zone) = result { zones.append(zone) }
        }
        operation.fetchRecordZonesResultBlock = { Self.complete($0.map { zones }, to: completionHandler) }
        start(operation)
    }

    /// Fetches one zone, see `recordZone(for:)`.
    @preconcurrency
    public func fetch(
        withRecordZoneID zoneID: CKRecordZone.ID,
        completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void
    ) {
        fetch(withRecordZoneIDs: [zoneID]) { results in
            Self.complete(results.flatMap { $0.onlyResult(zoneID) }, to: completionHandler)
        }
    }

    /// Creates a zone, see `save(_:)`.
    @preconcurrency
    public func save(
        _ zone: CKRecordZone, completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void
    ) {
        modifyRecordZones(saving: [zone], deleting: []) { results in
            Self.complete(results.flatMap { $0.saveResults.onlyResult(zone.zoneID) }, to: completionHandler)
        }
    }

    /// Deletes a zone, see `deleteRecordZone(withID:)`.
    @preconcurrency
    public func delete(
        withRecordZoneID zoneID: CKRecordZone.ID,
        completionHandler: @escaping @Sendable (CKRecordZone.ID?, (any Error)?) -> Void
    ) {
        modifyRecordZones(saving: [], deleting: [zoneID]) { results in
            let result = results.flatMap { $0.deleteResults.onlyResult(zoneID) }
            Self.complete(result.map { zoneID }, to: completionHandler)
        }
    }
}

extension CKDatabase {
    /// Fetches zones, see `recordZones(for:)`.
    @preconcurrency
    public func fetch(
        withRecordZoneIDs zoneIDs: [CKRecordZone.ID],
        completionHandler:
            @escaping @Sendable (Result<[CKRecordZone.ID: Result<CKRecordZone, any Error>], any Error>) -> Void
    ) {
        let operation = CKFetchRecordZonesOperation(recordZoneIDs: zoneIDs)
        var results: [CKRecordZone.ID: Result<CKRecordZone, any Error>] = [:]
        operation.perRecordZoneResultBlock = { results[$0] = $1 }
        operation.fetchRecordZonesResultBlock = { completionHandler($0.map { results }) }
        start(operation)
    }

    /// Creates and deletes zones, see `modifyRecordZones(saving:deleting:)`.
    @preconcurrency
    public func modifyRecordZones(
        saving recordZonesToSave: [CKRecordZone] = [], deleting recordZoneIDsToDelete: [CKRecordZone.ID] = [],
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
                        deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
                    ), any Error
                >
            ) -> Void
    ) {
        let operation = CKModifyRecordZonesOperation(
            recordZonesToSave: recordZonesToSave, recordZoneIDsToDelete: recordZoneIDsToDelete)
        var saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>] = [:]
        var deleteResults: [CKRecordZone.ID: Result<Void, any Error>] = [:]
        operation.perRecordZoneSaveBlock = { saveResults[$0] = $1 }
        operation.perRecordZoneDeleteBlock = { deleteResults[$0] = $1 }
        operation.modifyRecordZonesResultBlock = { completionHandler($0.map { (saveResults, deleteResults) }) }
        start(operation)
    }
}
