import CloudKit
import CloudKitUI

/// Shows the sharing panel of the user's own list, as Apple's introduction to sharing does.
@MainActor
final class ShoppingSharing: NSObject, UICloudSharingControllerDelegate {
    private let store: ShoppingStore
    private var list: CKRecord?

    init(_ store: ShoppingStore) {
        self.store = store
        super.init()
    }

    /// Shows the panel, and returns when the person has closed it.
    func present(isInTerminal: Bool) async throws {
        let list = try await store.ownList()
        self.list = list
        let controller = try await prepareToShare(list)
        controller.delegate = self
        try await controller.present(on: isInTerminal ? .terminal : .automatic)
    }

    private func prepareToShare(_ list: CKRecord) async throws -> UICloudSharingController {
        let container = store.container
        if let share = try await fetchShare(for: list) {
            return UICloudSharingController(share: share, container: container)
        }
        return UICloudSharingController { _, completion in
            Task {
                do {
                    let share = CKShare(rootRecord: list)
                    _ = try await container.privateCloudDatabase.modifyRecords(saving: [list, share], deleting: [])
                    completion(share, container, nil)
                } catch {
                    completion(nil, nil, error)
                }
            }
        }
    }

    private func fetchShare(for list: CKRecord) async throws -> CKShare? {
        guard let reference = list.share else { return nil }
        return try await store.container.privateCloudDatabase.record(for: reference.recordID) as? CKShare
    }

    func itemTitle(for csc: UICloudSharingController) -> String? {
        list?.encryptedValues["title"] as? String
    }

    func cloudSharingController(_ csc: UICloudSharingController, failedToSaveShareWithError error: any Error) {
        FileHandle.standardError.write(Data("shopping-demo: \(error.localizedDescription)\n".utf8))
    }
}

/// Joins lists whose links the user opens, as an app's delegate does.
@MainActor
final class ShoppingMember: UIResponder, UIApplicationDelegate {
    private let store: ShoppingStore
    private var joins: [Task<Void, Never>] = []

    init(_ store: ShoppingStore) {
        self.store = store
        super.init()
    }

    required init() {
        store = ShoppingStore(container: .default())
        super.init()
    }

    /// Runs the app for a while.
    func join(for duration: Duration) async {
        UIApplication.shared.delegate = self
        let app = Task { await UIApplication.shared.run(store.container) }
        try? await Task.sleep(for: duration)
        app.cancel()
        await app.value
        for join in joins { await join.value }
    }

    func application(
        _ application: UIApplication, userDidAcceptCloudKitShareWith cloudKitShareMetadata: CKShare.Metadata
    ) {
        joins.append(
            Task {
                do {
                    let share = try await store.container.accept(cloudKitShareMetadata)
                    print("   joined: \(share[CKShare.SystemFieldKey.title] as? String ?? "a list")")
                } catch {
                    FileHandle.standardError.write(Data("shopping-demo: \(error.localizedDescription)\n".utf8))
                }
            })
    }
}
