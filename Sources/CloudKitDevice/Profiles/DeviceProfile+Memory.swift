extension DeviceProfile {
    /// The folder of the versions of records that the device has seen.
    package static let recordVersionsFolder = "record-versions"
    /// The folder of what the device knows of the account's other devices.
    package static let zoneStatesFolder = "zone-states"

    /// The file of the secrets of the links through which the account joined shares.
    package static let shareLinksFile = "share-links.json"
}
