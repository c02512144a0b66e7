import Foundation

extension CKSyncEngine {
    /// Makes sure that the database has a subscription, so that the engine is notified of changes (B-SYN-10).
    ///
    /// A failure does not keep the engine from syncing: the next fetch tries again, and until then the engine polls.
    func subscribe() async {
        guard let automation else { return }
        let known = state.value.subscriptionID
        if known == nil || (subscriptionID != nil && subscriptionID != known) {
            guard let found = try? await findOrCreateSubscription() else { return }
            await post(
                nil,
                preparing: { state in
                    defer { state.subscriptionID = found }
                    return state.subscriptionID != found
                })
        }
        automation.noteListening()
    }

    /// The subscription that the configuration names, else one that is there, else a new one.
    private func findOrCreateSubscription() async throws -> String {
        let database = verifiedDatabase()
        let all = try await database.allSubscriptions().compactMap { $0 as? CKDatabaseSubscription }
        let wanted = all.first {
            $0.recordType == nil && (subscriptionID == nil || $0.subscriptionID == subscriptionID)
        }
        if let wanted { return wanted.subscriptionID }
        let fresh = CKDatabaseSubscription(subscriptionID: subscriptionID ?? "CKSyncEngine-\(database.scope.word)")
        fresh.notificationInfo = CKSubscription.NotificationInfo(shouldSendContentAvailable: true)
        return try await database.save(fresh).subscriptionID
    }

    /// Returns a Boolean value that indicates whether a notification may concern this engine's database. One that names
    /// no database may concern any.
    func concerns(_ notification: CKNotification?) -> Bool {
        guard let id = notification?.subscriptionID else { return true }
        return id == state.value.subscriptionID
    }
}
