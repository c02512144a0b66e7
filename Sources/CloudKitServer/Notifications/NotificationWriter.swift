import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Decides who is notified of a commit and stores the notifications, in the transaction of the commit.
struct NotificationWriter: Sendable {
    let place: DatabaseContext
    let schema: Schema
    let limits: Limits
    /// Milliseconds since 1970.
    let now: Int64
    /// Collects the decisions; nil: not collected.
    let buffer: NotificationBuffer?

    /// - Parameter database: Its count of subscriptions goes down when some were spent; public notifications take
    ///   versions of it. The caller stores it.
    func write(
        _ commit: NotificationMatcher.Commit, database: inout DatabaseHeader, _ transaction: inout StorageWriter
    ) async throws {
        let subscriptions = try await subscriptions(commit, transaction)
        let decision = NotificationMatcher(commit, subscriptions: subscriptions, in: place, schema: schema)
        for owner in decision.spent {
            transaction.clear(owner.subscription, of: owner.user, in: place.subscribedScope)
            database.subscriptionCount -= min(1, database.subscriptionCount)
        }
        var report = NotificationReport(
            place: place, decided: decision.pendingNotifications.count, dropped: decision.dropped)
        if !decision.pendingNotifications.isEmpty {
            if place.scope == .public {
                for notification in decision.pendingNotifications {
                    transaction.set(
                        CrossPartitionNotification(
                            version: database.takeVersions(1),
                            content: .draft(
                                try notification.draft(in: place, zoneName: commit.zoneName),
                                receiver: notification.owner.user)))
                }
            } else {
                report.dropped[.noOtherDevice] = try await enqueue(decision, commit: commit, &transaction)
            }
        }
        buffer?.add(report)
    }

    private func subscriptions(
        _ commit: NotificationMatcher.Commit, _ view: StorageWriter
    ) async throws -> [OwnedSubscription] {
        guard place.scope == .public else {
            return try await view.subscriptions(of: place.owner, in: .private).map {
                OwnedSubscription(user: place.owner, subscription: $0)
            }
        }
        var found: [OwnedSubscription] = []
        for type in Set(commit.changes.map(\.record.recordType)).sorted() {
            found += try await view.subscriptions(toRecordsOfType: type)
        }
        return found
    }

    /// Returns the number of notifications without a receiver; nil: none.
    private func enqueue(
        _ decision: NotificationMatcher, commit: NotificationMatcher.Commit, _ transaction: inout StorageWriter
    ) async throws -> Int? {
        let header = try await transaction.notificationQueueHeader()
        guard header.hasReceiver(besides: place.caller.deviceID) else { return decision.pendingNotifications.count }
        var queue = NotificationEnqueuer(header, limits: limits.notifications, now: now)
        let drafts = try decision.pendingNotifications.map { try $0.draft(in: place, zoneName: commit.zoneName) }
        try await queue.enqueue(drafts, &transaction)
        return nil
    }
}
