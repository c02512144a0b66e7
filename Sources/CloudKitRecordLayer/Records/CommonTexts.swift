import CloudKitModel

/// The texts that records which are read together mostly have in common: later ones use the strings of the first.
struct CommonTexts {
    private(set) var recordType = ""
    private(set) var created = Stamp(timestamp: 0, user: UserID(""))
    private(set) var modified = Stamp(timestamp: 0, user: UserID(""))

    /// Notes the texts of a record, unless it is of the same type as the last one.
    mutating func note(recordType: String, created: Stamp, modified: Stamp) {
        if self.recordType != recordType {
            (self.recordType, self.created, self.modified) = (recordType, created, modified)
        }
    }
}
