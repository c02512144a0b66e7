import CloudKitModel
import Foundation

extension CKDatabase {
    /// One page of which zones have changed (B-CHG-01).
    ///
    /// - Parameters:
    ///   - changeToken: nil: from the beginning (B-CHG-02).
    ///   - resultsLimit: An upper bound (B-CHG-12).
    /// - Throws: `CKError.changeTokenExpired` (B-CHG-09); `.invalidArguments` in the public database (B-DB-04).
    nonisolated(nonsending) public func databaseChanges(
        since changeToken: CKServerChangeToken?, resultsLimit: Int? = nil
    ) async throws -> (
        modifications: [DatabaseChange.Modification], deletions: [DatabaseChange.Deletion],
        changeToken: CKServerChangeToken, moreComing: Bool
    ) {
        try await failing {
            try scope.checkHasFeed()
            let page = try await requests().databaseChanges(
                DatabaseChangesRequest(syncToken: changeToken?.token, resultsLimit: resultsLimit?.positiveOrNil))
            var modifications: [DatabaseChange.Modification] = []
            var deletions: [DatabaseChange.Deletion] = []
            for event in page.events {
                switch event {
                case .changed(let id, _): modifications.append(.init(zoneID: CKRecordZone.ID(id)))
                case .deleted(let id, let reason):
                    deletions.append(.init(zoneID: CKRecordZone.ID(id), reason: .init(reason)))
                }
            }
            return (modifications, deletions, CKServerChangeToken(page.syncToken), page.moreComing)
        }
    }

    /// Returns one page of the changes of a zone (B-CHG-05).
    ///
    /// - Parameters:
    ///   - zoneID: The zone.
    ///   - changeToken: The position to continue from; nil: from the beginning (B-CHG-02).
    ///   - desiredKeys: The fields to fetch; nil: all, empty: only the record's metadata (B-REC-08).
    ///   - resultsLimit: An upper bound (B-CHG-12).
    /// - Throws: `CKError.changeTokenExpired` (B-CHG-09), `.zoneNotFound` (B-ZN-07); `.invalidArguments` in the public
    ///   database (B-DB-04).
    nonisolated(nonsending) public func recordZoneChanges(
        inZoneWith zoneID: CKRecordZone.ID, since changeToken: CKServerChangeToken?,
        desiredKeys: [CKRecord.FieldKey]? = nil, resultsLimit: Int? = nil
    ) async throws -> (
        modificationResultsByID: [CKRecord.ID: Result<RecordZoneChange.Modification, any Error>],
        deletions: [RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool
    ) {
        try await failing {
            try scope.checkHasFeed()
            let requests = requests()
            let page = try await requests.zoneChanges(
                ZoneChangesRequest(
                    zoneID: zoneID.model, syncToken: changeToken?.token, resultsLimit: resultsLimit?.positiveOrNil,
                    desiredKeys: desiredKeys))
            var modifications: [CKRecord.ID: Result<RecordZoneChange.Modification, any Error>] = [:]
            var deletions: [RecordZoneChange.Deletion] = []
            for event in try await requests.withFiles(page.events) {
                switch event {
                case .changed(let item):
                    modifications[CKRecord.ID(item.id)] = item.asRecord().map { .init(record: $0) }
                case .deleted(let tombstone): deletions.append(.init(tombstone, in: zoneID))
                }
            }
            return (modifications, deletions, CKServerChangeToken(page.syncToken), page.moreComing)
        }
    }
}

extension CKDatabase.RecordZoneChange.Deletion {
    /// Creates the deletion that a feed reports.
    init(_ tombstone: RecordTombstone, in zoneID: CKRecordZone.ID) {
        self.init(
            recordID: CKRecord.ID(named: tombstone.recordName, in: zoneID), recordType: tombstone.recordType ?? "")
    }
}
