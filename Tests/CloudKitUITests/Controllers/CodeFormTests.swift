import CloudKit
import CloudKitTesting
// In place of `import UIKit`.
import CloudKitUI
import Foundation
import Synchronization
import Testing

/// The view controller of Apple's introductions to sharing, with the app's own names; compiled as an app compiles it.
@MainActor
final class ShoppingListController: UIViewController, UICloudSharingControllerDelegate {
    var container = CKContainer.default()
    var list: CKRecord?
    private(set) var lastError: (any Error)?
    private(set) var presented: UICloudSharingController?

    // The tutorial's `prepareToShare`: an existing share is fetched, a new one is made by the handler.
    func prepareToShare(list: CKRecord) async throws -> UICloudSharingController {
        self.list = list
        let controller: UICloudSharingController
        if let share = try await fetchShare(for: list) {
            controller = UICloudSharingController(share: share, container: container)
        } else {
            controller = UICloudSharingController {
                (_, completion: @escaping (CKShare?, CKContainer?, (any Error)?) -> Void) in
                self.makeShare(for: list, completion: completion)
            }
        }
        controller.availablePermissions = [.allowReadWrite, .allowPrivate]
        controller.delegate = self
        presented = controller
        return controller
    }

    func fetchShare(for list: CKRecord) async throws -> CKShare? {
        let current = try await container.privateCloudDatabase.record(for: list.recordID)
        guard let reference = current.share else { return nil }
        return try await container.privateCloudDatabase.record(for: reference.recordID) as? CKShare
    }

    private func makeShare(
        for list: CKRecord, completion: @escaping (CKShare?, CKContainer?, (any Error)?) -> Void
    ) {
        let share = CKShare(rootRecord: list)
        share[CKShare.SystemFieldKey.title] = "Groceries" as CKRecordValue
        let container = container
        Task {
            do {
                _ = try await container.privateCloudDatabase.modifyRecords(saving: [list, share], deleting: [])
                completion(share, container, nil)
            } catch {
                completion(nil, nil, error)
            }
        }
    }

    func itemTitle(for csc: UICloudSharingController) -> String? { list?["title"] as? String }

    func cloudSharingController(_ csc: UICloudSharingController, failedToSaveShareWithError error: any Error) {
        lastError = error
    }
}

@MainActor
@Suite(.timeLimit(.minutes(20))) struct SharingCodeFormTests {
    @Test func `B-UI-01 the code of the introductions shares a list, and shows its share the next time`() async throws {
        try await ShoppingHousehold.run { home in
            let list = try await home.makeList()
            let app = ShoppingListController()
            app.container = home.ada
            let first = try await app.prepareToShare(list: list)
            try await first.present(on: ScriptedPerson(["share ben@example.com", "done"]).display)
            #expect(app.lastError == nil)
            try await home.join(first.share?.url, as: home.ben)
            let second = try await app.prepareToShare(list: list)
            let person = ScriptedPerson(["done"])
            try await second.present(on: person.display)
            #expect(person.shown.contains("Takes part"))
        }
    }

    @Test func `presenting in an app without desktop and terminal is reported to the delegate`() async throws {
        let app = ShoppingListController()
        let controller = UICloudSharingController { _, completion in completion(nil, nil, nil) }
        controller.delegate = app
        await #expect(throws: SharingPanelError.noDisplay) {
            try await controller.present(on: .unavailable)
        }
        app.present(UIViewController(), animated: true)
        #expect(app.lastError == nil)
    }
}

extension SharingPanelDisplay {
    /// Where there is nothing to show a panel on.
    fileprivate static var unavailable: SharingPanelDisplay {
        .page { _ in throw SharingPanelError.noDisplay }
    }
}
