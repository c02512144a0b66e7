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
    /// - Parameters:
    ///   - ids: The identifiers of the records.
    ///   - desiredKeys: The fields to fetch; nil: all, empty: only the record's metadata (B-REC-08).
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
        try await modifyingRecords(saving: [record], deleting: []).saveResults.only(record.recordID)
    }

    /// Deletes one record; deleting a record that does not exist is not an error (B-SAV-11).
    ///
    /// - Throws: The record's own error, not `partialFailure` (B-BAT-06).
    @discardableResult
    nonisolated(nonsending) public func deleteRecord(withID recordID: CKRecord.ID) async throws -> CKRecord.ID {
        try await modifyingRecords(saving: [], deleting: [recordID]).deleteResults.only(recordID)
        return recordID
    }

    /// Deletes one record.
    @available(*, deprecated, renamed: "deleteRecord(withID:)")
    @discardableResult
    nonisolated(nonsending) public func deleteRecord(with recordID: CKRecord.ID) async throws -> CKRecord.ID {
        try await deleteRecord(withID: recordID)
    }

    /// Saves and deletes records, at most 400 in one call (B-LIM-01).
    ///
    /// - Parameters:
    ///   - recordsToSave: The records to save.
    ///   - recordIDsToDelete: The identifiers of the records to delete.
    ///   - savePolicy: The condition of a save, and the fields that it sends (B-SAV-06).
    ///   - atomically: Whether the items of each custom zone take effect together or not at all (B-BAT-01). The
    ///     public database and the default zone ignore it (B-BAT-04).
    /// - Returns: The result of each item.
    /// - Throws: Failures of the request as a whole; and `CKError.partialFailure` with the error of each failed item in
    ///   `partialErrorsByItemID` where `atomically` is true and an item of a custom zone fails (B-BAT-05).
    @discardableResult
    nonisolated(nonsending) public func modifyRecords(
        saving recordsToSave: [CKRecord] = [], deleting recordIDsToDelete: [CKRecord.ID] = [],
        savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged, atomically: Bool = true
    ) async throws -> (
        saveResults: [CKRecord.ID: Result<CKRecord, any Error>], deleteResults: [CKRecord.ID: Result<Void, any Error>]
    ) {
        let results = try await modifyingRecords(
            saving: recordsToSave, deleting: recordIDsToDelete, savePolicy: savePolicy, atomically: atomically)
        if atomically, let error = atomicFailure(results.saveResults, results.deleteResults) { throw error }
        return results
    }

    /// Returns the error of an atomic modification in which an item of a custom zone failed; nil where none did
    /// (B-BAT-05).
    func atomicFailure(
        _ saveResults: [CKRecord.ID: Result<CKRecord, any Error>],
        _ deleteResults: [CKRecord.ID: Result<Void, any Error>]
    ) -> CKError? {
        guard databaseScope != .public else { return nil }
        var errors: [AnyHashable: any Error] = [:]
        for case (let id, .failure(let error)) in saveResults { errors[id] = error }
        for case (let id, .failure(let error)) in deleteResults { errors[id] = error }
        let isCustomZone = { (key: AnyHashable) in
            (key.base as? CKRecord.ID).map { !$0.zoneID.model.isDefaultZone } ?? false
        }
        guard errors.keys.contains(where: isCustomZone) else { return nil }
        return CKError.partial(errors, operation: "modify some records")
    }

    /// Saves and deletes records and returns the result of each item, also of those in an atomic batch that failed.
    nonisolated(nonsending) func modifyingRecords(
        saving recordsToSave: [CKRecord], deleting recordIDsToDelete: [CKRecord.ID],
        savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged, atomically: Bool = true,
        reportsOvertakenAsSent: Bool = false
    ) async throws -> (
        saveResults: [CKRecord.ID: Result<CKRecord, any Error>], deleteResults: [CKRecord.ID: Result<Void, any Error>]
    ) {
        try await failing {
            let requests = requests()
            let modification = try RecordModification(
                saving: recordsToSave, deleting: recordIDsToDelete, rule: savePolicy.rule, isAtomic: atomically,
                scope: scope, address: requests.address, reportsOvertakenAsSent: reportsOvertakenAsSent)
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
