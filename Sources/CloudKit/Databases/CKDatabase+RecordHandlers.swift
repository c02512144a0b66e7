import Foundation

// The functions with completion handlers are operations with one block. Handlers run on the operation's own queue.
extension _CKDatabaseHandlers {
    /// Fetches one record, see `record(for:)`.
    @preconcurrency
    public func fetch(
        withRecordID recordID: CKRecord.ID, completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void
    ) {
        fetch(withRecordIDs: [recordID]) { results in
            Self.complete(results.flatMap { $0.onlyResult(recordID) }, to: completionHandler)
        }
    }

    /// Saves one record, see `save(_:)`.
    @preconcurrency
    public func save(
        _ record: CKRecord, completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void
    ) {
        let recordID = record.recordID
        modifyingRecords(saving: [record], deleting: []) { results in
            Self.complete(results.flatMap { $0.saveResults.onlyResult(recordID) }, to: completionHandler)
        }
    }

    /// Deletes one record, see `deleteRecord(withID:)`.
    @preconcurrency
    public func delete(
        withRecordID recordID: CKRecord.ID, completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void
    ) {
        modifyingRecords(saving: [], deleting: [recordID]) { results in
            let result = results.flatMap { $0.deleteResults.onlyResult(recordID) }
            Self.complete(result.map { recordID }, to: completionHandler)
        }
    }
}

extension CKDatabase {
    /// Fetches records, see `records(for:desiredKeys:)`.
    @preconcurrency
    public func fetch(
        withRecordIDs recordIDs: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]? = nil,
        completionHandler: @escaping @Sendable (Result<[CKRecord.ID: Result<CKRecord, any Error>], any Error>) -> Void
    ) {
        let operation = CKFetchRecordsOperation(recordIDs: recordIDs)
        operation.desiredKeys = desiredKeys
        var results: [CKRecord.ID: Result<CKRecord, any Error>] = [:]
        operation.perRecordResultBlock = { results[$0] = $1 }
        operation.fetchRecordsResultBlock = { completionHandler($0.map { results }) }
        start(operation)
    }

    /// Saves and deletes records, see `modifyRecords(saving:deleting:savePolicy:atomically:)`.
    ///
    /// The handler gets `CKError.partialFailure` where `atomically` is true and an item of a custom zone fails
    /// (B-BAT-05).
    @preconcurrency
    public func modifyRecords(
        saving recordsToSave: [CKRecord] = [], deleting recordIDsToDelete: [CKRecord.ID] = [],
        savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged, atomically: Bool = true,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        saveResults: [CKRecord.ID: Result<CKRecord, any Error>],
                        deleteResults: [CKRecord.ID: Result<Void, any Error>]
                    ), any Error
                >
            ) -> Void
    ) {
        modifyingRecords(
            saving: recordsToSave, deleting: recordIDsToDelete, savePolicy: savePolicy, atomically: atomically
        ) { [self] results in
            if atomically, case .success(let (saveResults, deleteResults)) = results,
                let error = atomicFailure(saveResults, deleteResults)
            {
                completionHandler(.failure(error))
            } else {
                completionHandler(results)
            }
        }
    }

    /// Saves and deletes records and hands over the result of each item, also of those in an atomic batch that failed.
    fileprivate func modifyingRecords(
        saving recordsToSave: [CKRecord], deleting recordIDsToDelete: [CKRecord.ID],
        savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged, atomically: Bool = true,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        saveResults: [CKRecord.ID: Result<CKRecord, any Error>],
                        deleteResults: [CKRecord.ID: Result<Void, any Error>]
                    ), any Error
                >
            ) -> Void
    ) {
        let operation = CKModifyRecordsOperation(recordsToSave: recordsToSave, recordIDsToDelete: recordIDsToDelete)
        operation.savePolicy = savePolicy
        operation.isAtomic = atomically
        var saveResults: [CKRecord.ID: Result<CKRecord, any Error>] = [:]
        var deleteResults: [CKRecord.ID: Result<Void, any Error>] = [:]
        operation.perRecordSaveBlock = { saveResults[$0] = $1 }
        operation.perRecordDeleteBlock = { deleteResults[$0] = $1 }
        operation.modifyRecordsResultBlock = { completionHandler($0.map { (saveResults, deleteResults) }) }
        start(operation)
    }

    /// Hands a result to a handler of the older kind.
    static func complete<Value>(_ result: Result<Value, any Error>, to handler: (Value?, (any Error)?) -> Void) {
        switch result {
        case .success(let value): handler(value, nil)
        case .failure(let error): handler(nil, error)
        }
    }
}
extension Dictionary {
    /// The result of the only item; there always is one.
    func onlyResult<Success>(_ key: Key) -> Result<Success, any Error> where Value == Result<Success, any Error> {
        self[key] ?? .failure(CKError(.answerMalformed(status: 200)))
    }
}
