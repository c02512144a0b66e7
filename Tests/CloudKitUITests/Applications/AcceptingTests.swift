import CloudKit
import CloudKitTesting
import Foundation
import Testing

@testable import CloudKitUI

/// Delegates as sharing samples write them, and the links that reach them.
@MainActor
@Suite(.serialized, .timeLimit(.minutes(20))) struct AcceptingTests {
    /// An app without scenes.
    final class AppDelegate: UIResponder, UIApplicationDelegate {
        var isLaunchedByLink = false
        private(set) var received: [CKShare.Metadata] = []

        func application(
            _ application: UIApplication,
            didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
        ) -> Bool {
            isLaunchedByLink = launchOptions?[.cloudKitShareMetadata] is CKShare.Metadata
            return true
        }

        func application(
            _ application: UIApplication, userDidAcceptCloudKitShareWith cloudKitShareMetadata: CKShare.Metadata
        ) { received.append(cloudKitShareMetadata) }
    }

    /// An app with a scene, as Apple's sample has it.
    final class SceneAppDelegate: NSObject, UIApplicationDelegate {
        func application(
            _ application: UIApplication, configurationForConnecting connectingSceneSession: UISceneSession,
            options: UIScene.ConnectionOptions
        ) -> UISceneConfiguration {
            let configuration = UISceneConfiguration(name: nil, sessionRole: connectingSceneSession.role)
            configuration.delegateClass = SceneDelegate.self
            return configuration
        }
    }

    final class SceneDelegate: UIResponder, UIWindowSceneDelegate {
        static var atLaunch: [CKShare.Metadata] = []
        static var running: [CKShare.Metadata] = []
        var window: UIWindow?

        func scene(
            _ scene: UIScene, willConnectTo session: UISceneSession,
            options connectionOptions: UIScene.ConnectionOptions
        ) {
            if let metadata = connectionOptions.cloudKitShareMetadata { Self.atLaunch.append(metadata) }
        }

        func windowScene(
            _ windowScene: UIWindowScene, userDidAcceptCloudKitShareWith cloudKitShareMetadata: CKShare.Metadata
        ) { Self.running.append(cloudKitShareMetadata) }
    }

    final class MacDelegate: NSObject, NSApplicationDelegate {
        var received: [CKShare.Metadata] = []
        func application(_ application: NSApplication, userDidAcceptCloudKitShareWith metadata: CKShare.Metadata) {
            received.append(metadata)
        }
    }

    final class WatchDelegate: NSObject, WKExtensionDelegate {
        var received: [CKShare.Metadata] = []
        func userDidAcceptCloudKitShare(with cloudKitShareMetadata: CKShare.Metadata) {
            received.append(cloudKitShareMetadata)
        }
    }

    /// Ben's device, invited to a list of Ada's. Each pause of the delivery opens the next thing, and then ends it.
    private func withInvitation(
        _ body: @MainActor (ShoppingHousehold, TestDevice, URL) async throws -> Void
    ) async throws {
        try await ShoppingHousehold.run { home in
            let participant = try await home.ada.shareParticipant(forEmailAddress: "ben@example.com")
            let share = try await home.makeShare("List") { $0.addParticipant(participant) }
            try await body(home, try #require(home.devices["ben"]), try #require(share.url))
        }
    }

    private func delivery(
        _ container: CKContainer, pauses: [() throws -> Void] = [], complaints: Complaints = Complaints()
    ) -> OpenedShareDelivery {
        var pauses = pauses
        return OpenedShareDelivery(
            take: { await container.takeOpenedLinks() },
            pause: {
                guard !pauses.isEmpty else { throw CancellationError() }
                try pauses.removeFirst()()
            }, complain: { complaints.texts.append($0) })
    }

    private final class Complaints {
        var texts: [String] = []
    }

    @Test func `B-ACP-01 a link opened before the launch and one opened while running reach the app's delegate`()
        async throws
    {
        try await withInvitation { home, device, link in
            try device.openShare(link, in: ShoppingHousehold.container)
            let delegate = AppDelegate()
            let app = UIApplication()
            app.delegate = delegate
            let delivery = delivery(
                home.ben, pauses: [{ try device.openShare(link, in: ShoppingHousehold.container) }])
            await app.run(delivery)
            #expect(delegate.isLaunchedByLink)
            #expect(delegate.received.map(\.participantStatus) == [.pending, .pending])
            try await home.ben.accept(try #require(delegate.received.first))
            #expect(try await home.ben.sharedCloudDatabase.allRecordZones().count == 1)
        }
    }

    @Test func `B-ACP-01 a scene gets the first link when it connects, and later ones while it runs`() async throws {
        try await withInvitation { home, device, link in
            try device.openShare(link, in: ShoppingHousehold.container)
            let delegate = SceneAppDelegate()
            let app = UIApplication()
            app.delegate = delegate
            let delivery = delivery(
                home.ben, pauses: [{ try device.openShare(link, in: ShoppingHousehold.container) }])
            await app.run(delivery)
            #expect(SceneDelegate.atLaunch.count == 1)
            #expect(SceneDelegate.running.count == 1)
            #expect(app.connectedScenes.count == 1)
        }
    }

    @Test func `B-ACP-01 the delegates of other systems get links as well`() async throws {
        try await withInvitation { home, device, link in
            let (mac, watch) = (MacDelegate(), WatchDelegate())
            let (macApp, watchApp) = (NSApplication(), WKApplication())
            macApp.delegate = mac
            watchApp.delegate = watch
            try device.openShare(link, in: ShoppingHousehold.container)
            await macApp.run(delivery(home.ben))
            try device.openShare(link, in: ShoppingHousehold.container)
            await watchApp.run(delivery(home.ben))
            #expect(mac.received.count == 1)
            #expect(watch.received.count == 1)
        }
    }

    @Test func `a link that leads nowhere is reported in a sentence, and the next one still arrives`() async throws {
        try await withInvitation { home, device, link in
            let unknown = try #require(
                URL(string: link.absoluteString.replacingOccurrences(of: "/share/", with: "/share/x")))
            try device.openShare(unknown, in: ShoppingHousehold.container)
            try device.openShare(link, in: ShoppingHousehold.container)
            let (complaints, delegate, app) = (Complaints(), AppDelegate(), UIApplication())
            app.delegate = delegate
            await app.run(delivery(home.ben, complaints: complaints))
            #expect(delegate.received.count == 1)
            #expect(complaints.texts.count == 1)
            #expect(complaints.texts.first?.contains("Ask the owner for a new link.") == true)
            #expect(complaints.texts.first?.contains("/share/") == false)
        }
    }

    @Test func `B-ACP-02 B-ACP-03 every reason for which a link does not open has a sentence`() {
        for code: CKError.Code in [.unknownItem, .participantMayNeedVerification, .permissionFailure, .internalError] {
            #expect(OpenedShareDelivery.sentence(CKError(code)).hasPrefix("A link that was opened"))
        }
    }
}
