import CloudKit
import Foundation

/// The panel in which people begin and end sharing, invite others and set what they may do (B-UI-01, B-UI-02).
///
/// ```swift
/// let controller = UICloudSharingController(share: share, container: container)
/// controller.delegate = self
/// try await controller.present()
/// ```
///
/// The panel belongs to the app's own process, because the keys are there: a page in the person's browser, or text in the
/// terminal where there is no desktop. It saves the share itself; the app fetches again (B-UI-05).
@MainActor
open class UICloudSharingController: UIViewController {
    /// The permissions that people can choose.
    public struct PermissionOptions: OptionSet, Sendable {
        /// The bits of the options.
        public let rawValue: UInt

        /// Creates a set from its bits.
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// Everyone with the link may join.
        public static var allowPublic: PermissionOptions { .init(rawValue: 1) }
        /// Only invited people may join.
        public static var allowPrivate: PermissionOptions { .init(rawValue: 2) }
        /// Participants read.
        public static var allowReadOnly: PermissionOptions { .init(rawValue: 4) }
        /// Participants read and change.
        public static var allowReadWrite: PermissionOptions { .init(rawValue: 8) }
    }

    /// The handler that saves what is to be shared with a new share, and passes both on.
    public typealias PreparationHandler = (
        UICloudSharingController, @escaping @Sendable (CKShare?, CKContainer?, (any Error)?) -> Void
    ) -> Void

    /// The object that gives the panel a title and hears of each end (B-UI-04).
    open weak var delegate: (any UICloudSharingControllerDelegate)?

    /// What people can choose; empty: everything (B-UI-03). Set it before the panel is presented.
    open var availablePermissions: PermissionOptions = []

    private let subject: (share: CKShare, container: CKContainer)?
    private let prepare: PreparationHandler?
    private var panel: SharingPanel?

    /// Creates a controller for a share that was saved.
    public init(share: CKShare, container: CKContainer) {
        subject = (share, container)
        prepare = nil
        super.init()
    }

    /// Creates a controller for something that is not shared yet; the handler is called when people were chosen.
    public init(preparationHandler: @escaping PreparationHandler) {
        subject = nil
        prepare = preparationHandler
        super.init()
    }

    /// A controller without a share, which fails when people begin to share.
    public required init() {
        subject = nil
        prepare = nil
        super.init()
    }

    /// The share as it was saved last; nil before there is one.
    open var share: CKShare? { panel.map(\.share) ?? subject?.share }

    /// Shows the panel, and returns when the person has closed it.
    ///
    /// - Parameter display: A browser, a terminal, or what there is.
    /// - Throws: ``SharingPanelError`` if there is neither, or if the share has a panel already.
    open func present(on display: SharingPanelDisplay = .automatic) async throws {
        let options = PanelOptions(availablePermissions)
        let panel = SharingPanel(panel?.subject ?? subject, client: Client(self), options: options)
        self.panel = panel
        try await PresentedPanels.present(panel, on: display)
    }

    /// Closes the panel, if it is open.
    open override func dismiss(animated flag: Bool, completion: (() -> Void)? = nil) {
        panel?.close()
        completion?()
    }

    func presentReportingErrors() async {
        do {
            try await present()
        } catch {
            delegate?.cloudSharingController(self, failedToSaveShareWithError: error)
        }
    }

    /// Connects the panel to the delegate. The controller holds the panel, and is held while that is presented.
    private final class Client: PanelClient {
        private weak var controller: UICloudSharingController?

        init(_ controller: UICloudSharingController) { self.controller = controller }

        func prepareShare() async throws -> (CKShare, CKContainer) {
            guard let controller, let prepare = controller.prepare else { throw SharingPanelError.nothingToShare }
            return try await PreparedShare.from { prepare(controller, $0) }
        }

        func introduction(isNew: Bool) -> PanelIntroduction {
            guard let controller else { return PanelIntroduction() }
            let delegate = controller.delegate
            return PanelIntroduction(
                title: delegate?.itemTitle(for: controller), type: delegate?.itemType(for: controller),
                thumbnail: isNew ? delegate?.itemThumbnailData(for: controller) : nil)
        }

        func panelDidSave(_ share: CKShare) {
            guard let controller else { return }
            controller.delegate?.cloudSharingControllerDidSaveShare(controller)
        }

        func panelDidFail(_ error: any Error) {
            guard let controller else { return }
            controller.delegate?.cloudSharingController(controller, failedToSaveShareWithError: error)
        }

        func panelDidStopSharing(_ share: CKShare) {
            guard let controller else { return }
            controller.delegate?.cloudSharingControllerDidStopSharing(controller)
        }
    }
}

extension PanelOptions {
    /// The options of a controller.
    init(_ permissions: UICloudSharingController.PermissionOptions) {
        self.init(
            allowsPublic: permissions.contains(.allowPublic), allowsPrivate: permissions.contains(.allowPrivate),
            allowsReadOnly: permissions.contains(.allowReadOnly),
            allowsReadWrite: permissions.contains(.allowReadWrite))
    }
}
