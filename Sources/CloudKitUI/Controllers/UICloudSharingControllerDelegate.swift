import CloudKit
import Foundation

/// The object that gives a sharing controller a title and hears of each end (B-UI-04).
///
/// Methods that are optional in Apple's framework have an implementation that does nothing.
@MainActor
public protocol UICloudSharingControllerDelegate: NSObjectProtocol {
    /// Reports that the share could not be saved or prepared.
    func cloudSharingController(_ csc: UICloudSharingController, failedToSaveShareWithError error: any Error)

    /// Returns the title of what is shared.
    func itemTitle(for csc: UICloudSharingController) -> String?

    /// Returns the data of an image of what is shared; asked for a new share only.
    func itemThumbnailData(for csc: UICloudSharingController) -> Data?

    /// Returns the uniform type identifier of what is shared.
    func itemType(for csc: UICloudSharingController) -> String?

    /// Reports that the share was saved. It was not saved by the app's sync engine: fetch it (B-UI-05).
    func cloudSharingControllerDidSaveShare(_ csc: UICloudSharingController)

    /// Reports that the owner stopped sharing, or that the user left.
    func cloudSharingControllerDidStopSharing(_ csc: UICloudSharingController)
}

extension UICloudSharingControllerDelegate {
    /// Returns no image.
    public func itemThumbnailData(for csc: UICloudSharingController) -> Data? { nil }

    /// Returns no type.
    public func itemType(for csc: UICloudSharingController) -> String? { nil }

    /// Does nothing.
    public func cloudSharingControllerDidSaveShare(_ csc: UICloudSharingController) {}

    /// Does nothing.
    public func cloudSharingControllerDidStopSharing(_ csc: UICloudSharingController) {}
}
