extension DeviceProfile {
    /// The folder of the versions of records that the device has seen.
    package static let recordVersionsFolder = "record-versions"
    /// The folder of what the device knows of the account's other devices.
    package static let zoneStatesFolder = "zone-states"

    /// The file of the secrets of the links through which the account joined shares.
    package static let shareLinksFile = "share-links.json"

    /// Removes what is the user's in the profile, beside credentials and keys.
    ///
    /// - Parameter keepsMemories: Whether what the device remembers of the account's records and zones stays.
    func forgetUser(keepsMemories: Bool) throws(FileFailure) {
        try OpenedShares(profileFolder: folder).removeAll()
        try PrivateFile.remove(folder + "/" + Self.shareLinksFile)
        for memory in keepsMemories ? [] : [Self.recordVersionsFolder, Self.zoneStatesFolder] {
            try PrivateFile.removeFolder(folder + "/" + memory)
        }
    }
}
