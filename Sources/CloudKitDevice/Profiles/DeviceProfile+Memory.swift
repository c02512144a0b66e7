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
        guard !keepsMemories else { return }
        try PrivateFile.removeFolder(folder + "/" + Self.zoneStatesFolder)
        // What the profile knows of keys, shares and directories stays, and with it which state of a cloud that is.
        try PrivateFile.removeFolder(folder + "/" + Self.recordVersionsFolder, except: Self.restorationsFile)
        try forgetNamesInRestorations()
    }
}
