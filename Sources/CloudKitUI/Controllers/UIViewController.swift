import Foundation

/// The base of objects that handle events, with the name that Apple's samples spell.
@MainActor
open class UIResponder: NSObject {
    /// Creates a responder.
    public required override init() { super.init() }
}

/// The base of controllers, as far as presenting ``UICloudSharingController`` needs it.
@MainActor
open class UIViewController: UIResponder {
    /// The title of what the controller shows.
    open var title: String?

    /// Presents a sharing controller as its ``UICloudSharingController/present(on:)`` does; the completion handler is called
    /// immediately.
    ///
    /// An error of presenting goes to the controller's delegate as
    /// ``UICloudSharingControllerDelegate/cloudSharingController(_:failedToSaveShareWithError:)``. Other controllers show nothing:
    /// this module has no views.
    open func present(
        _ viewControllerToPresent: UIViewController, animated flag: Bool, completion: (() -> Void)? = nil
    ) {
        if let controller = viewControllerToPresent as? UICloudSharingController {
            Task { await controller.presentReportingErrors() }
        }
        completion?()
    }

    /// Closes what the controller shows.
    open func dismiss(animated flag: Bool, completion: (() -> Void)? = nil) { completion?() }
}
