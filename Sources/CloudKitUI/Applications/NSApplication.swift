import CloudKit
import Foundation

/// The running app with the name of AppKit, as far as opened links to shares need it.
@MainActor
open class NSApplication: NSObject {
    /// The app of this process.
    public static let shared = NSApplication()

    /// The object that hears of opened links. The app holds it.
    open weak var delegate: (any NSApplicationDelegate)?

    /// Passes links to shares of the container to the delegate, as ``UIApplication/run(_:)`` does.
    ///
    /// - Parameter container: The container whose links to pass on.
    /// - Note: Not part of Apple's interface, where the system does this.
    public func run(_ container: CKContainer = .default()) async {
        await run(OpenedShareDelivery(container))
    }

    func run(_ delivery: OpenedShareDelivery) async {
        await delivery.run(await delivery.next()) { [weak self] metadata in
            guard let self else { return }
            delegate?.application(self, userDidAcceptCloudKitShareWith: metadata)
        }
    }
}

/// The object that hears what happens to an app.
@MainActor
public protocol NSApplicationDelegate: NSObjectProtocol {
    /// Called when the user has opened the link of a share: accept it (B-ACP-01).
    func application(_ application: NSApplication, userDidAcceptCloudKitShareWith metadata: CKShare.Metadata)
}

extension NSApplicationDelegate {
    /// Does nothing.
    public func application(_ application: NSApplication, userDidAcceptCloudKitShareWith metadata: CKShare.Metadata) {}
}
