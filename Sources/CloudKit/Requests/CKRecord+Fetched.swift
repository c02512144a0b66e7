import CloudKitClient
import CloudKitModel

extension FetchedRecord {
    /// Returns the record as the app sees it; an error when a field cannot be read or opened.
    func asRecord() -> Result<CKRecord, any Error> {
        Result {
            try CKRecord.answered(opened) { slot, value in
                CKAsset(opened.kept(value, at: slot, in: address), file: files[slot])
            }
        }
    }
}

extension FetchedItem {
    /// The record as the app sees it.
    func asRecord() -> Result<CKRecord, any Error> {
        result.asError(.fetchingRecord(CKRecord.ID(id))).flatMap { $0.asRecord() }
    }
}
