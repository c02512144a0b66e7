import Foundation
import Synchronization

/// Reports the shares of a container that the sharing interface of this app saves and stops (B-UI-04).
///
/// The interface is in the module `CloudKitUI`. Blocks are called on an arbitrary queue as long as the observer exists.
public final class CKSystemSharingUIObserver: NSObject, Sendable {
    private struct Blocks {
        var didSave: (@Sendable (CKRecord.ID, Result<CKShare, any Error>) -> Void)?
        var didStop: (@Sendable (CKRecord.ID, Result<Void, any Error>) -> Void)?
    }

    private struct Reference {
        weak var observer: CKSystemSharingUIObserver?
    }

    private static let all = Mutex<[Reference]>([])

    private let container: CKContainer
    private let blocks = Mutex(Blocks())

    /// Creates an observer of the container's shares.
    public init(container: CKContainer) {
        self.container = container
        super.init()
        Self.all.withLock { all in
            all.removeAll { $0.observer == nil }
            all.append(Reference(observer: self))
        }
    }

    /// The block that is called with the identifier of a share and the outcome after the interface tried to save it.
    @preconcurrency
    public var systemSharingUIDidSaveShareBlock: (@Sendable (CKRecord.ID, Result<CKShare, any Error>) -> Void)? {
        get { blocks.withLock { $0.didSave } }
        set { blocks.withLock { $0.didSave = newValue } }
    }

    /// The block that is called with the identifier of a share and the outcome after the interface tried to stop or to leave it.
    @preconcurrency
    public var systemSharingUIDidStopSharingBlock: (@Sendable (CKRecord.ID, Result<Void, any Error>) -> Void)? {
        get { blocks.withLock { $0.didStop } }
        set { blocks.withLock { $0.didStop = newValue } }
    }

    /// Tells the observers of a container that its interface tried to save a share.
    package static func report(
        saving share: CKRecord.ID, _ result: Result<CKShare, any Error>, in container: CKContainer
    ) {
        for observer in observers(of: container) { observer.systemSharingUIDidSaveShareBlock?(share, result) }
    }

    /// Tells the observers of a container that its interface tried to stop or to leave a share.
    package static func report(
        stopping share: CKRecord.ID, _ result: Result<Void, any Error>, in container: CKContainer
    ) {
        for observer in observers(of: container) { observer.systemSharingUIDidStopSharingBlock?(share, result) }
    }

    private static func observers(of container: CKContainer) -> [CKSystemSharingUIObserver] {
        all.withLock { $0.compactMap(\.observer) }.filter { $0.container.isSamePlace(as: container) }
    }
}

extension CKContainer {
    /// Returns whether another object is the same container of the same cloud, for the same account.
    package func isSamePlace(as other: CKContainer) -> Bool {
        if connection === other.connection { return true }
        guard let mine = try? connection.cloud.place.get(), let others = try? other.connection.cloud.place.get()
        else { return false }
        return mine == others && connection.folder == other.connection.folder && connection.folder != nil
    }
}
