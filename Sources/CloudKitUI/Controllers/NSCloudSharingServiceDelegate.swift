import CloudKit
import Foundation

/// The object that hears of a sharing service's beginning and end.
///
/// Methods that are optional in Apple's framework have an implementation that does nothing.
@MainActor
public protocol NSSharingServiceDelegate: NSObjectProtocol {
    /// Reports that the panel opens.
    func sharingService(_ sharingService: NSSharingService, willShareItems items: [Any])

    /// Reports that the panel closed after a failure.
    func sharingService(_ sharingService: NSSharingService, didFailToShareItems items: [Any], error: any Error)

    /// Reports that the panel closed.
    func sharingService(_ sharingService: NSSharingService, didShareItems items: [Any])
}

extension NSSharingServiceDelegate {
    /// Does nothing.
    public func sharingService(_ sharingService: NSSharingService, willShareItems items: [Any]) {}

    /// Does nothing.
    public func sharingService(_ sharingService: NSSharingService, didFailToShareItems items: [Any], error: any Error) {
    }

    /// Does nothing.
    public func sharingService(_ sharingService: NSSharingService, didShareItems items: [Any]) {}
}

/// The object that hears of each end of sharing by CloudKit (B-UI-04).
@MainActor
public protocol NSCloudSharingServiceDelegate: NSSharingServiceDelegate {
    /// Reports that the panel closed; the error, of the domain `NSCocoaErrorDomain`, is that of the last action if it failed.
    func sharingService(_ sharingService: NSSharingService, didCompleteForItems items: [Any], error: (any Error)?)

    /// Returns what people can choose (B-UI-03).
    func options(
        for cloudKitSharingService: NSSharingService, share provider: NSItemProvider
    ) -> NSSharingService.CloudKitOptions

    /// Reports that the share was saved. It was not saved by the app's sync engine: fetch it (B-UI-05).
    func sharingService(_ sharingService: NSSharingService, didSave share: CKShare)

    /// Reports that the owner stopped sharing, or that the user left.
    func sharingService(_ sharingService: NSSharingService, didStopSharing share: CKShare)
}

extension NSCloudSharingServiceDelegate {
    /// Does nothing.
    public func sharingService(
        _ sharingService: NSSharingService, didCompleteForItems items: [Any], error: (any Error)?
    ) {}

    /// Returns everything.
    public func options(
        for cloudKitSharingService: NSSharingService, share provider: NSItemProvider
    ) -> NSSharingService.CloudKitOptions { .standard }

    /// Does nothing.
    public func sharingService(_ sharingService: NSSharingService, didSave share: CKShare) {}

    /// Does nothing.
    public func sharingService(_ sharingService: NSSharingService, didStopSharing share: CKShare) {}
}
