import CloudKitClient
import CloudKitModel
import Foundation

extension CKDatabase {
    /// Fetches one record.
    ///
    /// - Throws: `CKError.unknownItem` when the record does not exist, `.zoneNotFound` when the zone does not exist
    ///   (B-REC-13).
    nonisolated(nonsending) public func record(for recordID: CKRecord.ID) async throws -> CKRecord {
        try await records(for: [recordID]).only(recordID)
    }

    /// Fetches records, at most 400 in one call (B-LIM-01).
    ///
    /// - Parameter desiredKeys: The fields to fetch; nil: all, empty: only the record's metadata (B-REC-08).
    nonisolated(nonsending) public func records(
        for ids: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]? = nil
    ) async throws -> [CKRecord.ID: Result<CKRecord, any Error>] {
        try await failing {
            try RequestLimits.check(items: ids.count)
            let outcomes = try await requests().lookup(ids.map(\.model), desiredKeys: desiredKeys)
            var results: [CKRecord.ID: Result<CKRecord, any Error>] = [:]
            for outcome in outcomes { results[CKRecord.ID(outcome.id)] = outcome.asRecord() }
            return results
        }
    }

    /// Saves one record, unless the server holds another version than the one it was made from (B-SAV-02).
    ///
    /// - Returns: The record as the server holds it. The one given is brought up to date as well (B-REC-07).
    /// - Throws: The record's own error, not `partialFailure` (B-BAT-06).
    @discardableResult
    nonisolated(nonsending) public func save(_ record: CKRecord) async throws -> CKRecord {
        try await modifyRecords(saving: [record], deleting: []).saveResults.only(record.recordID)
    }

    /// Deletes one record; deleting a record that does not exist is not an error (B-SAV-11).
    ///
    /// - Throws: The record's own error, not `partialFailure` (B-BAT-06).
    @discardableResult
    nonisolated(nonsending) public func deleteRecord(withID recordID: CKRecord.ID) async throws -> CKRecord.ID {
        try await modifyRecords(saving: [], deleting: [recordID]).deleteResults.only(recordID)
        return recordID
    }

    /// Saves and deletes records, at most 400 in one call (B-LIM-01).
    ///
    /// - Parameter atomically: Whether the items of each zone take effect together or not at all (B-BAT-01).
    /// - Returns: The result of each item, also when an atomic batch failed (OPEN-13).
    /// - Throws: Failures of the request as a whole.
    @discardableResult
    nonisolated(nonsending) public func modifyRecords(
        saving recordsToSave: [CKRecord], deleting recordIDsToDelete: [CKRecord.ID],
        savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged, atomically: Bool = true
    ) async throws -> (
        saveResults: [CKRecord.ID: Result<CKRecord, any Error>], deleteResults: [CKRecord.ID: Result<Void, any Error>]
    ) {
        try await failing {
            let requests = requests()
            let modification = try RecordModification(
                saving: recordsToSave, deleting: recordIDsToDelete, rule: savePolicy.rule, isAtomic: atomically,
                scope: scope, address: requests.address)
            let outcomes = try await requests.sendByZone(modification.plan)
            var saveResults: [CKRecord.ID: Result<CKRecord, any Error>] = [:]
            var deleteResults: [CKRecord.ID: Result<Void, any Error>] = [:]
            modification.resolve(
                outcomes, saved: { saveResults[$0.recordID] = $1 }, deleted: { deleteResults[$0] = $1 })
            return (saveResults, deleteResults)
        }
    }

    /// Runs the body of a convenience function and turns its failures into errors for the app.
    nonisolated(nonsending) func failing<Value>(
        _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value {
        do {
            return try await body()
        } catch let error as CKError {
            throw error
        } catch {
            throw CKError(Task.isCancelled ? .cancelled : CallFailure(error))
        }
    }
}

extension Dictionary where Key: Hashable {
    /// The result of the only item; there always is one.
    func only<Success>(_ key: Key) throws -> Success where Value == Result<Success, any Error> {
        guard let result = self[key] else { throw CKError(.answerMalformed(status: 200)) }
        return try result.get()
    }
}
