import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Decides who is notified of a commit and writes what was decided, in the transaction of the commit.
struct NoticeWriting: Sendable {
    let place: DatabasePlace
    let schema: Schema
    let limits: Limits
    /// Milliseconds since 1970.
    let now: Int64
    /// Learns what was decided; nil: nobody asks.
    let sink: NoticeSink?

    /// - Parameter database: Its count of subscriptions goes down when some were spent; public notifications take
    ///   versions of it. The caller stores it.
    func write(
        _ commit: NoticeDecision.Commit, database: inout DatabaseHeader, _ transaction: inout StorageWriter
    ) async throws {
        let subscriptions = try await subscriptions(commit, transaction)
        let decision = NoticeDecision(commit, subscriptions: subscriptions, in: place, schema: schema)
        for owner in decision.spent {
            transaction.clear(owner.subscription, of: owner.user, in: place.subscribedScope)
            database.subscriptionCount -= min(1, database.subscriptionCount)
        }
        var report = NoticeReport(place: place, decided: decision.notices.count, dropped: decision.dropped)
        if !decision.notices.isEmpty {
            if place.scope == .public {
                for notice in decision.notices {
                    transaction.set(
                        CarriedNotification(
                            version: database.takeVersions(1),
                            content: .draft(
                                try notice.draft(in: place, zoneName: commit.zoneName), receiver: notice.owner.user)))
                }
            } else {
                report.dropped[.noOtherDevice] = try await enqueue(decision, commit, &transaction)
            }
        }
        sink?.add(report)
    }

    private func subscriptions(
        _ commit: NoticeDecision.Commit, _ view: StorageWriter
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

    /// How many notifications nobody waits for; nil: none.
    private func enqueue(
        _ decision: NoticeDecision, _ commit: NoticeDecision.Commit, _ transaction: inout StorageWriter
    ) async throws -> Int? {
        let header = try await transaction.notificationQueueHeader()
        guard header.hasReceiver(besides: place.caller.deviceID) else { return decision.notices.count }
        var queue = NotificationEnqueuing(header, limits: limits.notifications, now: now)
        let drafts = try decision.notices.map { try $0.draft(in: place, zoneName: commit.zoneName) }
        try await queue.enqueue(drafts, &transaction)
        return nil
    }
}
