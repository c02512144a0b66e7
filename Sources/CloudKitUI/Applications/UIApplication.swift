import CloudKit
import Foundation

/// The running app, as far as opened links to shares need it.
@MainActor
open class UIApplication: UIResponder {
    /// The reasons for which an app was launched.
    public struct LaunchOptionsKey: RawRepresentable, Hashable, Sendable {
        /// The key as text.
        public let rawValue: String

        /// Creates a key from text.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The metadata of the share whose link was opened while the app did not run: a `CKShare.Metadata`.
        public static let cloudKitShareMetadata = LaunchOptionsKey(
            rawValue: "UIApplicationLaunchOptionsCloudKitShareMetadataKey")
    }

    /// The app of this process.
    public static let shared = UIApplication()

    /// The object that hears of opened links. The app holds it.
    open weak var delegate: (any UIApplicationDelegate)?

    /// The scenes that the app has; one at most.
    open private(set) var connectedScenes: Set<UIScene> = []

    /// Holds the scene's delegate, which the app's configuration names as a class.
    private var sceneDelegate: (any UISceneDelegate)?

    /// Launches the delegate, and passes it links to shares of the container that are opened with `welkin open` or the link handler:
    /// those that wait at once, others while the app runs.
    ///
    /// A delegate that names a scene delegate gets the first waiting link in the scene's connection options and later ones in
    /// ``UIWindowSceneDelegate/windowScene(_:userDidAcceptCloudKitShareWith:)``; every other one in
    /// ``UIApplicationDelegate/application(_:userDidAcceptCloudKitShareWith:)``. A link that leads to no share is reported in the
    /// standard error output. Returns when the task is cancelled.
    ///
    /// - Parameter container: The container whose links to pass on.
    /// - Note: Not part of Apple's interface, where the system does this.
    public func run(_ container: CKContainer = .default()) async {
        await run(OpenedShareDelivery(container))
    }

    func run(_ delivery: OpenedShareDelivery) async {
        var waiting = await delivery.next()
        let options = waiting.first.map { [LaunchOptionsKey.cloudKitShareMetadata: $0 as Any] }
        guard delegate?.application(self, didFinishLaunchingWithOptions: options) ?? true else { return }
        if let scene = connectScene(waiting.first) {
            waiting.removeFirst(min(1, waiting.count))
            await delivery.run(waiting) { [weak self] metadata in
                (self?.sceneDelegate as? any UIWindowSceneDelegate)?
                    .windowScene(scene, userDidAcceptCloudKitShareWith: metadata)
            }
        } else {
            await delivery.run(waiting) { [weak self] metadata in
                guard let self else { return }
                delegate?.application(self, userDidAcceptCloudKitShareWith: metadata)
            }
        }
    }

    /// Makes the scene of a delegate that has scenes.
    private func connectScene(_ metadata: CKShare.Metadata?) -> UIWindowScene? {
        let session = UISceneSession()
        let options = UIScene.ConnectionOptions(cloudKitShareMetadata: metadata)
        let configuration = delegate?.application(self, configurationForConnecting: session, options: options)
        guard let type = configuration?.delegateClass as? UIResponder.Type else { return nil }
        guard let delegate = type.init() as? any UISceneDelegate else { return nil }
        let scene = UIWindowScene(session: session)
        scene.delegate = delegate
        sceneDelegate = delegate
        connectedScenes = [scene]
        delegate.scene(scene, willConnectTo: session, options: options)
        return scene
    }
}

/// The object that hears what happens to an app.
///
/// Methods that are optional in Apple's framework have an implementation that does nothing.
@MainActor
public protocol UIApplicationDelegate: NSObjectProtocol {
    /// Called first.
    ///
    /// - Returns: false to end the app's run.
    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool

    /// Returns the configuration of the app's scene.
    func application(
        _ application: UIApplication, configurationForConnecting connectingSceneSession: UISceneSession,
        options: UIScene.ConnectionOptions
    ) -> UISceneConfiguration

    /// Called when the user has opened the link of a share: accept it (B-ACP-01).
    func application(
        _ application: UIApplication, userDidAcceptCloudKitShareWith cloudKitShareMetadata: CKShare.Metadata)
}

extension UIApplicationDelegate {
    /// Returns true.
    public func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool { true }

    /// Returns a configuration without a delegate.
    public func application(
        _ application: UIApplication, configurationForConnecting connectingSceneSession: UISceneSession,
        options: UIScene.ConnectionOptions
    ) -> UISceneConfiguration { UISceneConfiguration(name: nil, sessionRole: connectingSceneSession.role) }

    /// Does nothing.
    public func application(
        _ application: UIApplication, userDidAcceptCloudKitShareWith cloudKitShareMetadata: CKShare.Metadata
    ) {}
}

extension UIApplicationDelegate where Self: UIResponder {
    /// Runs the app, so that `@main` can mark its delegate.
    public static func main() async {
        let delegate = Self()
        UIApplication.shared.delegate = delegate
        await UIApplication.shared.run()
        withExtendedLifetime(delegate) {}
    }
}
