import CloudKitModel

/// The outcome of one record of a response.
package struct FetchedItem: Hashable, Sendable {
    /// The identifier of the record.
    package var id: RecordID
    /// The database; nil where the device does not know its cloud.
    package var address: DatabaseAddress?
    /// The record, or the failure with which it was answered.
    package var result: Result<OpenedRecord, CallFailure>

    /// Creates the outcome of one record.
    package init(id: RecordID, result: Result<OpenedRecord, CallFailure>) {
        self.id = id
        self.result = result
    }

    /// Creates the outcome for a record whose files are still to come.
    package init(_ opened: OpenedRecord, in address: DatabaseAddress?) {
        self.init(id: opened.record.id, result: .success(opened))
        self.address = address
    }
}
