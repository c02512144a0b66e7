import CloudKitModel

/// A record as an answer carried it, opened, with the files of its assets.
package struct FetchedRecord: Hashable, Sendable {
    /// The record with its values opened.
    package var opened: OpenedRecord
    /// The database; nil where the device does not know its cloud.
    package var address: DatabaseAddress?
    /// The staged files of the record's assets, by their position.
    package var files: [AssetSlot: StagedFile] = [:]
}

/// The outcome of one record of a response.
package struct FetchedItem: Hashable, Sendable {
    /// The identifier of the record.
    package var id: RecordID
    /// The record, or the failure with which it was answered.
    package var result: Result<FetchedRecord, CallFailure>

    /// Creates the outcome of one record.
    package init(id: RecordID, result: Result<FetchedRecord, CallFailure>) {
        self.id = id
        self.result = result
    }

    /// A record whose files are still to come.
    package init(_ opened: OpenedRecord, in address: DatabaseAddress?) {
        self.init(id: opened.record.id, result: .success(FetchedRecord(opened: opened, address: address)))
    }
}
