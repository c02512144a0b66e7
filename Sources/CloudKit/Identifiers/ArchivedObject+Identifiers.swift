// Archives of Apple's framework, read for apps that move here and bring theirs along: the keys and values are those seen in such archives.

extension CKRecordZoneID.Content {
    /// The identifier of a zone in an archive of Apple's framework; nil for any other object.
    init?(apple archived: ArchivedObject) {
        guard let zoneName = archived.string("ZoneName"), !zoneName.isEmpty else { return nil }
        self.init(zoneName: zoneName, ownerName: archived.string("ownerName") ?? CKCurrentUserDefaultName)
    }
}

extension CKRecordID.Content {
    /// The identifier of a record in an archive of Apple's framework; nil for any other object.
    init?(apple archived: ArchivedObject) {
        guard let recordName = archived.string("RecordName"), !recordName.isEmpty else { return nil }
        let zoneID = archived.object("ZoneID").flatMap { CKRecordZoneID.Content(apple: $0) }
        self.init(recordName: recordName, zoneID: zoneID ?? CKRecordZoneID.default.content)
    }
}

extension ArchivedObject {
    /// The identifier of a zone under a key.
    func zoneID(_ key: String) -> CKRecordZoneID? {
        object(key).flatMap { CKRecordZoneID.Content(apple: $0) }.flatMap { CKRecordZoneID($0) }
    }

    /// The identifier of a record under a key.
    func recordID(_ key: String) -> CKRecordID? {
        object(key).flatMap { CKRecordID.Content(apple: $0) }.flatMap { CKRecordID($0) }
    }
}
