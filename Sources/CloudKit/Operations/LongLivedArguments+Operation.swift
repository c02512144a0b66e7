import Foundation

extension LongLivedArguments {
    /// Returns the operation, without blocks; nil when the stored arguments cannot be read.
    func operation() -> CKDatabaseOperation? {
        switch self {
        case .modifyRecords(let saves, let deletes, let policy, let isAtomic, let clientChangeToken):
            let records = saves.compactMap { LongLivedArchive.read($0) { CKRecord(coder: $0) } }
            let ids = deletes.compactMap { CKRecordID($0) }
            guard records.count == saves.count, ids.count == deletes.count,
                let policy = CKModifyRecordsOperation.RecordSavePolicy(rawValue: policy)
            else { return nil }
            let operation = CKModifyRecordsOperation(recordsToSave: records, recordIDsToDelete: ids)
            operation.savePolicy = policy
            operation.isAtomic = isAtomic
            operation.clientChangeTokenData = clientChangeToken
            return operation
        case .fetchRecords(let ids, let desiredKeys, let isForCurrentUser):
            let operation =
                isForCurrentUser
                ? CKFetchRecordsOperation.fetchCurrentUserRecordOperation()
                : CKFetchRecordsOperation(recordIDs: ids.compactMap { CKRecordID($0) })
            operation.desiredKeys = desiredKeys
            return operation
        case .query(let query, let cursor, let zone, let limit, let desiredKeys):
            let operation = CKQueryOperation()
            operation.query = query.flatMap { LongLivedArchive.read($0) { CKQuery(coder: $0) } }
            operation.cursor = cursor.flatMap { LongLivedArchive.read($0) { CKQueryCursor(coder: $0) } }
            operation.zoneID = zone.flatMap { CKRecordZoneID($0) }
            operation.resultsLimit = limit
            operation.desiredKeys = desiredKeys
            return operation
        case .modifyZones(let saves, let deletes):
            return CKModifyRecordZonesOperation(
                recordZonesToSave: saves.compactMap { CKRecordZoneID($0).map { CKRecordZone(zoneID: $0) } },
                recordZoneIDsToDelete: deletes.compactMap { CKRecordZoneID($0) })
        case .fetchZones(let ids, let isForAll):
            return isForAll
                ? CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
                : CKFetchRecordZonesOperation(recordZoneIDs: ids.compactMap { CKRecordZoneID($0) })
        case .databaseChanges(let token, let limit, let fetchesAll):
            let operation = CKFetchDatabaseChangesOperation(
                previousServerChangeToken: token.map { CKServerChangeToken($0) })
            operation.resultsLimit = limit
            operation.fetchAllChanges = fetchesAll
            return operation
        case .zoneChanges(let zones, let fetchesAll):
            let operation = CKFetchRecordZoneChangesOperation()
            var configurations: [CKRecordZone.ID: CKFetchRecordZoneChangesConfiguration] = [:]
            operation.recordZoneIDs = zones.compactMap { start in
                guard let id = CKRecordZoneID(start.zone) else { return nil }
                configurations[id] = CKFetchRecordZoneChangesConfiguration(
                    previousServerChangeToken: start.token.map { CKServerChangeToken($0) }, resultsLimit: start.limit,
                    desiredKeys: start.desiredKeys)
                return id
            }
            operation.configurationsByRecordZoneID = configurations
            operation.fetchAllChanges = fetchesAll
            return operation
        case .modifySubscriptions(let saves, let deletes):
            let subscriptions = saves.compactMap(\.subscription)
            guard subscriptions.count == saves.count else { return nil }
            return CKModifySubscriptionsOperation(
                subscriptionsToSave: subscriptions, subscriptionIDsToDelete: deletes)
        case .fetchSubscriptions(let ids, let isForAll):
            return isForAll
                ? CKFetchSubscriptionsOperation.fetchAllSubscriptionsOperation()
                : CKFetchSubscriptionsOperation(subscriptionIDs: ids)
        }
    }
}
