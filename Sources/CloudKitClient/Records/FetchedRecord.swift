import CloudKitModel

/// A record as an answer carried it, opened, with the files of its assets.
package struct FetchedRecord: Hashable, Sendable {
    package var opened: OpenedRecord
    /// The database; nil where the device does not know its cloud.
    package var address: DatabaseAddress?
    package var files: [AssetSlot: StagedFile] = [:]
}

/// The outcome of one record of a response.
package struct FetchedItem: Hashable, Sendable {
    package var id: RecordID
    package var result: Result<FetchedRecord, CallFailure>

    package init(id: RecordID, result: Result<FetchedRecord, CallFailure>) {
        self.id = id
        self.result = result
    }

    /// A record whose files are still to come.
    package init(_ opened: OpenedRecord, in address: DatabaseAddress?) {
        self.init(id: opened.record.id, result: .success(FetchedRecord(opened: opened, address: address)))
    }
}
