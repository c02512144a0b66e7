import CloudKitModel

extension CKRecordZoneID {
    convenience init(_ id: ZoneID) {
        // Neither name is empty when the server keeps its word; a server that does not must not end the process.
        self.init(
            zoneName: id.zoneName.isEmpty ? Self.defaultZoneName : id.zoneName,
            ownerName: id.owner.recordName.isEmpty ? CKCurrentUserDefaultName : id.owner.recordName)
    }

    /// The identifier as a Model value.
    var model: ZoneID { ZoneID(zoneName: zoneName, owner: UserID(ownerName)) }
}
