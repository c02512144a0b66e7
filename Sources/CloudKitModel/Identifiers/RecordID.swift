/// A record is known by its name within a zone, across all types (B-REC-10).
package struct RecordID: Hashable, Sendable {
    /// The name of the record.
    package var recordName: String
    /// The zone of the record.
    package var zoneID: ZoneID

    /// Creates a value with the given properties.
    package init(recordName: String, zoneID: ZoneID) {
        self.recordName = recordName
        self.zoneID = zoneID
    }
}
