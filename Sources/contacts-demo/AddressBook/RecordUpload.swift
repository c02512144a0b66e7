import CloudKit

extension CKDatabase {
    /// Saves new records with one operation and reports each saved record.
    ///
    /// The operation updates the records: they have the server's change tags afterwards (B-REC-07).
    func upload(_ records: [CKRecord], group: CKOperationGroup) -> AsyncThrowingStream<CKRecord.ID, any Error> {
        let (saved, progress) = AsyncThrowingStream<CKRecord.ID, any Error>.makeStream()
        let operation = CKModifyRecordsOperation(recordsToSave: records)
        operation.group = group
        operation.qualityOfService = .userInitiated
        operation.perRecordSaveBlock = { id, result in
            if case .success = result { progress.yield(id) }
        }
        operation.modifyRecordsResultBlock = { result in
            switch result {
            case .success: progress.finish()
            case .failure(let error): progress.finish(throwing: error)
            }
        }
        add(operation)
        return saved
    }
}
