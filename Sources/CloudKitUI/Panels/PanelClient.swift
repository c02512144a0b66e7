import CloudKit

/// What a panel needs of the app that shows it (B-UI-01, B-UI-04).
@MainActor
protocol PanelClient: AnyObject {
    /// Saves what is to be shared with a new share, and returns that; called when people were chosen.
    func prepareShare() async throws -> (CKShare, CKContainer)

    /// Returns the title, type and image of what is shared.
    ///
    /// - Parameter isNew: Only a new share is asked for its image.
    func introduction(isNew: Bool) -> PanelIntroduction

    /// Reports that the panel saved the share.
    func panelDidSave(_ share: CKShare)

    /// Reports that the share could not be saved or prepared.
    func panelDidFail(_ error: any Error)

    /// Reports that the owner stopped sharing, or that the user left.
    func panelDidStopSharing(_ share: CKShare)
}
