import CloudKit
import Foundation

/// The service that shows the sharing panel for an ``NSItemProvider``.
@MainActor
open class NSSharingService: NSObject {
    /// The name of a service.
    public struct Name: RawRepresentable, Hashable, Sendable {
        /// The name as text.
        public let rawValue: String

        /// Creates a name from text.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Shares by CloudKit.
        public static let cloudSharing = Name(rawValue: "com.apple.share.CloudSharing")
    }

    /// What people can choose.
    public struct CloudKitOptions: OptionSet, Sendable {
        /// The bits of the options.
        public let rawValue: UInt

        /// Creates a set from its bits.
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// Everything.
        public static var standard: CloudKitOptions { .init(rawValue: 0) }
        /// Everyone with the link may join.
        public static var allowPublic: CloudKitOptions { .init(rawValue: 1) }
        /// Only invited people may join.
        public static var allowPrivate: CloudKitOptions { .init(rawValue: 2) }
        /// Participants read.
        public static var allowReadOnly: CloudKitOptions { .init(rawValue: 16) }
        /// Participants read and change.
        public static var allowReadWrite: CloudKitOptions { .init(rawValue: 32) }
    }

    /// The object that hears of each end; usually an ``NSCloudSharingServiceDelegate``.
    open weak var delegate: (any NSSharingServiceDelegate)?

    /// The title of the service.
    open var title: String { "Share" }

    /// Creates a service; nil for every name but ``Name/cloudSharing``.
    public init?(named serviceName: Name) {
        guard serviceName == .cloudSharing else { return nil }
        super.init()
    }

    /// Returns whether the service can share the items: one provider with a registered share.
    open func canPerform(withItems items: [Any]?) -> Bool { items.flatMap { Self.provider(in: $0) } != nil }

    /// Shows the panel for the items, and returns immediately; the delegate hears of the end.
    open func perform(withItems items: [Any]) {
        Task { await present(items: items) }
    }

    /// Shows the panel for the items, and returns when the person has closed it; the delegate hears of the end as well.
    ///
    /// - Parameters:
    ///   - items: One provider with a registered share.
    ///   - display: A browser, a terminal, or what there is.
    /// - Note: Not part of Apple's interface.
    open func present(items: [Any], on display: SharingPanelDisplay = .automatic) async {
        guard let provider = Self.provider(in: items), let registration = provider.registration else {
            return complete(items, SharingPanelError.nothingToShare)
        }
        let client = Client(service: self, provider: provider, registration: registration)
        let subject = registration.share.flatMap { share in registration.container.map { (share, $0) } }
        let options =
            registration.options.map { PanelOptions($0) }
            ?? PanelOptions(cloudDelegate?.options(for: self, share: provider) ?? .standard)
        delegate?.sharingService(self, willShareItems: items)
        do {
            let panel = SharingPanel(subject, client: client, options: options)
            try await PresentedPanels.present(panel, on: display)
            complete(items, client.lastError)
        } catch {
            complete(items, error)
        }
    }

    private var cloudDelegate: (any NSCloudSharingServiceDelegate)? { delegate as? any NSCloudSharingServiceDelegate }

    private func complete(_ items: [Any], _ error: (any Error)?) {
        let shown = error.map { CocoaError(cloudSharing: $0) }
        cloudDelegate?.sharingService(self, didCompleteForItems: items, error: shown)
        if let shown {
            delegate?.sharingService(self, didFailToShareItems: items, error: shown)
        } else {
            delegate?.sharingService(self, didShareItems: items)
        }
    }

    private static func provider(in items: [Any]) -> NSItemProvider? {
        guard items.count == 1, let provider = items[0] as? NSItemProvider, provider.registration != nil else {
            return nil
        }
        return provider
    }

    /// Connects the panel to the delegate.
    private final class Client: PanelClient {
        private let service: NSSharingService
        private let provider: NSItemProvider
        private let registration: NSItemProvider.Registration
        /// The error of the last action that failed; nil after one that did not.
        private(set) var lastError: (any Error)?

        init(service: NSSharingService, provider: NSItemProvider, registration: NSItemProvider.Registration) {
            self.service = service
            self.provider = provider
            self.registration = registration
        }

        func prepareShare() async throws -> (CKShare, CKContainer) {
            guard let prepare = registration.prepare else { throw SharingPanelError.nothingToShare }
            return try await prepare()
        }

        func introduction(isNew: Bool) -> PanelIntroduction { PanelIntroduction(title: provider.suggestedName) }

        func panelDidSave(_ share: CKShare) {
            lastError = nil
            service.cloudDelegate?.sharingService(service, didSave: share)
        }

        func panelDidFail(_ error: any Error) { lastError = error }

        func panelDidStopSharing(_ share: CKShare) {
            lastError = nil
            service.cloudDelegate?.sharingService(service, didStopSharing: share)
        }
    }
}

extension PanelOptions {
    /// The options of a sharing service.
    init(_ options: NSSharingService.CloudKitOptions) {
        self.init(
            allowsPublic: options.contains(.allowPublic), allowsPrivate: options.contains(.allowPrivate),
            allowsReadOnly: options.contains(.allowReadOnly), allowsReadWrite: options.contains(.allowReadWrite))
    }

    /// The options that a share was registered with.
    init(_ options: CKAllowedSharingOptions) {
        let access = options.allowedParticipantAccessOptions
        let permissions = options.allowedParticipantPermissionOptions
        self.init(
            allowsPublic: access.contains(.anyoneWithLink), allowsPrivate: access.contains(.specifiedRecipientsOnly),
            allowsReadOnly: permissions.contains(.readOnly), allowsReadWrite: permissions.contains(.readWrite),
            offersAccessRequests: options.allowsAccessRequests,
            offersInviting: options.allowsParticipantsToInviteOthers)
    }
}
