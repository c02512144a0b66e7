import CloudKit
import Foundation

/// The running app with the name of WatchKit, as far as opened links to shares need it.
@MainActor
open class WKApplication: NSObject {
    private static let app = WKApplication()

    /// Returns the app of this process.
    public class func shared() -> WKApplication { app }

    /// The object that hears of opened links. The app holds it.
    open weak var delegate: (any WKApplicationDelegate)?

    /// Passes links to shares of the container to the delegate, as ``UIApplication/run(_:)`` does.
    ///
    /// - Parameter container: The container whose links to pass on.
    /// - Note: Not part of Apple's interface, where the system does this.
    public func run(_ container: CKContainer = .default()) async {
        await run(OpenedShareDelivery(container))
    }

    func run(_ delivery: OpenedShareDelivery) async {
        await delivery.run(await delivery.next()) { [weak self] metadata in
            self?.delegate?.userDidAcceptCloudKitShare(with: metadata)
        }
    }
}

/// The object that hears what happens to an app.
@MainActor
public protocol WKApplicationDelegate: NSObjectProtocol {
    /// Called when the user has opened the link of a share: accept it (B-ACP-01).
    func userDidAcceptCloudKitShare(with cloudKitShareMetadata: CKShare.Metadata)
}

extension WKApplicationDelegate {
    /// Does nothing.
    public func userDidAcceptCloudKitShare(with cloudKitShareMetadata: CKShare.Metadata) {}
}

/// The earlier form of ``WKApplicationDelegate``.
@MainActor
public protocol WKExtensionDelegate: WKApplicationDelegate {
    /// Called when the user has opened the link of a share: accept it (B-ACP-01).
    func userDidAcceptCloudKitShare(with cloudKitShareMetadata: CKShare.Metadata)
}
