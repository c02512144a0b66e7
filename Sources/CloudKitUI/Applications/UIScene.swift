import CloudKit
import Foundation

/// A part of an app's interface; here only the receiver of opened links.
@MainActor
open class UIScene: UIResponder {
    /// What a scene is connected for.
    @MainActor
    open class ConnectionOptions: NSObject {
        /// The metadata of the share whose link was opened while the app did not run.
        public let cloudKitShareMetadata: CKShare.Metadata?

        init(cloudKitShareMetadata: CKShare.Metadata?) {
            self.cloudKitShareMetadata = cloudKitShareMetadata
            super.init()
        }
    }

    /// The session of the scene.
    public let session: UISceneSession

    /// The object that hears what happens to the scene.
    open weak var delegate: (any UISceneDelegate)?

    init(session: UISceneSession) {
        self.session = session
        super.init()
    }

    /// Creates a scene with a session of its own.
    public required init() {
        session = UISceneSession()
        super.init()
    }
}

/// A scene with windows; there are none here.
@MainActor
open class UIWindowScene: UIScene {}

/// The window that scene delegates hold; there are none here.
@MainActor
open class UIWindow: UIResponder {
    /// The controller of the window's content.
    open var rootViewController: UIViewController?
}

/// What an app keeps of a scene.
@MainActor
open class UISceneSession: NSObject {
    /// The purpose of a scene.
    public struct Role: RawRepresentable, Hashable, Sendable {
        /// The role as text.
        public let rawValue: String

        /// Creates a role from text.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A scene that people use.
        public static let windowApplication = Role(rawValue: "UIWindowSceneSessionRoleApplication")
    }

    /// The purpose of the scene.
    public let role = Role.windowApplication
}

/// The class that hears what happens to a scene.
@MainActor
open class UISceneConfiguration: NSObject {
    /// The name of the configuration.
    public let name: String?
    /// The purpose of the scene.
    public let role: UISceneSession.Role
    /// A class that inherits from ``UIResponder`` and conforms to ``UIWindowSceneDelegate``.
    open var delegateClass: AnyClass?

    /// Creates a configuration.
    public init(name: String?, sessionRole: UISceneSession.Role) {
        self.name = name
        role = sessionRole
        super.init()
    }
}

/// The object that hears what happens to a scene.
@MainActor
public protocol UISceneDelegate: NSObjectProtocol {
    /// Called when the scene is made, with the link that waited for the app.
    func scene(
        _ scene: UIScene, willConnectTo session: UISceneSession, options connectionOptions: UIScene.ConnectionOptions)
}

extension UISceneDelegate {
    /// Does nothing.
    public func scene(
        _ scene: UIScene, willConnectTo session: UISceneSession, options connectionOptions: UIScene.ConnectionOptions
    ) {}
}

/// The object that hears what happens to a scene with windows.
@MainActor
public protocol UIWindowSceneDelegate: UISceneDelegate {
    /// Called when the user has opened the link of a share while the app runs: accept it (B-ACP-01).
    func windowScene(
        _ windowScene: UIWindowScene, userDidAcceptCloudKitShareWith cloudKitShareMetadata: CKShare.Metadata)
}

extension UIWindowSceneDelegate {
    /// Does nothing.
    public func windowScene(
        _ windowScene: UIWindowScene, userDidAcceptCloudKitShareWith cloudKitShareMetadata: CKShare.Metadata
    ) {}
}
