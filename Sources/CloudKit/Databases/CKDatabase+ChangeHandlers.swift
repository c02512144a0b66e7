import CloudKitModel
import Foundation

extension CKDatabase {
    /// One page of which zones have changed, see `databaseChanges(since:resultsLimit:)`.
    @preconcurrency
    public func fetchDatabaseChanges(
        since changeToken: CKServerChangeToken?, resultsLimit: Int? = nil,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        modifications: [DatabaseChange.Modification], deletions: [DatabaseChange.Deletion],
                        changeToken: CKServerChangeToken, moreComing: Bool
                    ), any Error
                >
            ) -> Void
    ) {
        let operation = CKFetchDatabaseChangesOperation(previousServerChangeToken: changeToken)
        operation.resultsLimit = resultsLimit ?? 0
        operation.fetchAllChanges = false
        var modifications: [DatabaseChange.Modification] = []
        var deletions: [DatabaseChange.Deletion] = []
        operation.recordZoneWithIDChangedBlock = { modifications.append(.init(zoneID: $0)) }
        operation.recordZoneWithIDWasDeletedBlock = { deletions.append(.init(zoneID: $0, reason: .deleted)) }
        operation.recordZoneWithIDWasPurgedBlock = { deletions.append(.init(zoneID: $0, reason: .purged)) }
        operation.recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock = {
            deletions.append(.init(zoneID: $0, reason: .encryptedDataReset))
        }
        operation.fetchDatabaseChangesResultBlock = { result in
            completionHandler(result.map { (modifications, deletions, $0.serverChangeToken, $0.moreComing) })
        }
        start(operation)
    }

    /// One page of which records of a zone have changed, see
    /// `recordZoneChanges(inZoneWith:since:desiredKeys:resultsLimit:)`.
    @preconcurrency
    public func fetchRecordZoneChanges(
        inZoneWith zoneID: CKRecordZone.ID, since changeToken: CKServerChangeToken?,
        desiredKeys: [CKRecord.FieldKey]? = nil, resultsLimit: Int? = nil,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        modificationResultsByID: [CKRecord.ID: Result<RecordZoneChange.Modification, any Error>],
                        deletions: [RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool
                    ), any Error
                >
            ) -> Void
    ) {
        let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration(
            previousServerChangeToken: changeToken, resultsLimit: resultsLimit, desiredKeys: desiredKeys)
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [zoneID], configurationsByRecordZoneID: [zoneID: configuration])
        operation.fetchAllChanges = false
        var modifications: [CKRecord.ID: Result<RecordZoneChange.Modification, any Error>] = [:]
        var deletions: [RecordZoneChange.Deletion] = []
        var end: Result<(CKServerChangeToken, Bool), any Error> = .failure(CKError(.answerMalformed(status: 200)))
        operation.recordWasChangedBlock = { id, result in
            modifications[id] = result.map { RecordZoneChange.Modification(record: $0) }
        }
        operation.recordWithIDWasDeletedBlock = { deletions.append(.init(recordID: $0, recordType: $1)) }
        operation.recordZoneFetchResultBlock = { _, result in end = result.map { ($0.serverChangeToken, $0.moreComing) }
        }
        operation.fetchRecordZoneChangesResultBlock = { result in
            // The zone's own error, not a `partialFailure` of one zone (B-BAT-06).
            completionHandler(result.flatMap { end }.map { (modifications, deletions, $0, $1) })
        }
        start(operation)
    }
}
