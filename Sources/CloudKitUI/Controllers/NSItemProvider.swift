import CloudKit
import Foundation
import Synchronization

/// A provider of the shares that an app registers, for ``NSSharingService``.
///
/// Foundation on Linux has no type of this name; this one provides shares and nothing else.
open class NSItemProvider: NSObject, @unchecked Sendable {
    /// What was registered.
    struct Registration: Sendable {
        /// nil: the options of the sharing service decide.
        var options: CKAllowedSharingOptions?
        var share: CKShare?
        var container: CKContainer?
        var prepare: (@Sendable () async throws -> (CKShare, CKContainer))?
    }

    // `@unchecked`: the class is open, its state is in a Mutex.
    private let state = Mutex<(registration: Registration?, name: String?)>((nil, nil))

    /// Creates a provider without an item.
    public override init() { super.init() }

    /// The title of the item.
    open var suggestedName: String? {
        get { state.withLock { $0.name } }
        set { state.withLock { $0.name = newValue } }
    }

    /// Registers a saved share.
    public func registerCKShare(
        _ share: CKShare, container: CKContainer,
        allowedSharingOptions: CKAllowedSharingOptions = CKAllowedSharingOptions.standard
    ) {
        registration = Registration(options: allowedSharingOptions, share: share, container: container)
    }

    /// Registers a handler that saves what is to be shared with a new share.
    public func registerCKShare(
        container: CKContainer, allowedSharingOptions: CKAllowedSharingOptions = CKAllowedSharingOptions.standard,
        preparationHandler: @escaping @Sendable () async throws -> CKShare
    ) {
        registration = Registration(options: allowedSharingOptions, container: container) {
            (try await preparationHandler(), container)
        }
    }

    /// Registers a saved share; the sharing service's delegate says what people can choose.
    public func registerCloudKitShare(_ share: CKShare, container: CKContainer) {
        registration = Registration(share: share, container: container)
    }

    /// Registers a handler that saves what is to be shared with a new share.
    public func registerCloudKitShare(
        preparationHandler:
            @escaping @Sendable (@escaping @Sendable (CKShare?, CKContainer?, (any Error)?) -> Void) -> Void
    ) {
        registration = Registration { try await PreparedShare.from(preparationHandler) }
    }

    var registration: Registration? {
        get { state.withLock { $0.registration } }
        set { state.withLock { $0.registration = newValue } }
    }
}
