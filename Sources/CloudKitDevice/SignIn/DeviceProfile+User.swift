extension DeviceProfile {
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
