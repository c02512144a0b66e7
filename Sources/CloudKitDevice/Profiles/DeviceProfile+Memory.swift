extension DeviceProfile {
    /// The folder of the versions of records that the device has seen.
    package static let recordVersionsFolder = "record-versions"
    /// The folder of what the device knows of the account's other devices.
    package static let zoneStatesFolder = "zone-states"

    /// The folders with memories of the account's zones, which end with the session.
    static let zoneMemories = [recordVersionsFolder, zoneStatesFolder]
}
