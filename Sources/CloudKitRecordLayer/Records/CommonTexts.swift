import CloudKitModel

/// The texts that records which are read together mostly have in common: later ones use the strings of the first.
package struct CommonTexts: Sendable {
    private(set) var recordType = ""
    private(set) var created = Stamp(timestamp: 0, user: UserID(""))
    private(set) var modified = Stamp(timestamp: 0, user: UserID(""))

    /// Notes the texts of a record, unless it is of the same type as the last one.
    mutating func note(_ record: StoredRecord) {
        if recordType != record.recordType {
            (recordType, created, modified) = (record.recordType, record.created, record.modified)
        }
    }

    /// As for a stored record.
    mutating func note(_ record: Record) {
        record.withProperties { record in
            if recordType != record.recordType {
                (recordType, created, modified) = (record.recordType, record.created, record.modified)
            }
        }
    }
}
