import CloudKitModel
import Foundation

/// A record as an answer carried it, opened, with the files of its assets.
struct FetchedRecord: Hashable, Sendable {
    var opened: OpenedRecord
    /// The database; nil where the device does not know its cloud.
    var address: DatabaseAddress?
    var files: [AssetSlot: StagedFile] = [:]

    /// The record as the app sees it; an error of its own when a field cannot be read or does not open.
    func asRecord() -> Result<CKRecord, any Error> {
        Result {
            try CKRecord.answered(opened) { slot, value in
                CKAsset(opened.kept(value, at: slot, in: address), file: files[slot])
            }
        }
    }
}

/// What became of one record of an answer.
struct FetchedItem: Hashable, Sendable {
    var id: RecordID
    var result: Result<FetchedRecord, CallFailure>

    init(id: RecordID, result: Result<FetchedRecord, CallFailure>) {
        self.id = id
        self.result = result
    }

    /// A record whose files are still to come.
    init(_ opened: OpenedRecord, in address: DatabaseAddress?) {
        self.init(id: opened.record.id, result: .success(FetchedRecord(opened: opened, address: address)))
    }

    /// The record as the app sees it.
    func asRecord() -> Result<CKRecord, any Error> {
        result.asError(.fetchingRecord(CKRecord.ID(id))).flatMap { $0.asRecord() }
    }
}
