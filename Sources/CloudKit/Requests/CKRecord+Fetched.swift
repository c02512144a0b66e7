import CloudKitClient
import CloudKitModel

extension FetchedItem {
    /// Returns the record as the app sees it; an error when it was not fetched, or when a field cannot be read or opened.
    func asRecord() -> Result<CKRecord, any Error> {
        result.asError(.fetchingRecord(CKRecord.ID(id))).flatMap { opened in
            Result {
                try CKRecord.answered(opened) { slot, value in
                    CKAsset(opened.kept(value, at: slot, in: address), file: opened.files[slot])
                }
            }
        }
    }
}
