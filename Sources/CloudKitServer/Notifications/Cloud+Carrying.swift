import CloudKitModel
import CloudKitRecordLayer

extension Cloud {
    /// Carries notifications that were decided in a partition into the queues of their receivers; false if none waited.
    ///
    /// Each receiver's queue is written before the job is done, so that a crash between the two delivers again rather than
    /// never; the queue takes the second for a newer one of the same.
    @discardableResult
    func carryNotifications(from partition: StoragePartition) async throws -> Bool {
        guard let place = DatabasePlace(partition: partition) else { return false }
        let waiting = try await store.read(partition) { try await $0.carriedNotifications(limit: Self.carriedAtOnce) }
        if waiting.isEmpty { return false }
        var contents: [UserID: [CarriedNotification.Content]] = [:]
        for carried in waiting { contents[carried.receiver, default: []].append(carried.content) }
        var counts = CarriedCounts()
        for (receiver, contents) in contents {
            try await deliver(contents, to: receiver, place.address, &counts)
        }
        try await store.write(partition) { transaction in
            for carried in waiting { transaction.clear(carried) }
        }
        noticeBoard.tell(.carried(place.address, count: counts.queued, dropped: counts.dropped))
        return true
    }

    private static var carriedAtOnce: Int { 200 }

    private struct CarriedCounts: Sendable {
        var queued = 0
        var dropped = 0
    }

    private func deliver(
        _ contents: [CarriedNotification.Content], to receiver: UserID, _ address: DatabaseAddress,
        _ counts: inout CarriedCounts
    ) async throws {
        let partition = StoragePartition.privateDatabase(address.container, address.environment, of: receiver)
        let (waiting, shared) = try await store.read(partition) { view in
            (
                try await view.notificationQueueHeader(),
                contents.contains(where: \.isSharedChange)
                    ? try await view.subscriptions(of: receiver, in: .shared) : []
            )
        }
        let drafts = contents.flatMap { content in
            switch content {
            case .draft(let draft): [draft]
            case .sharedChange(let change):
                shared.compactMap { change.draft(for: $0, of: receiver, in: address.container) }
            }
        }
        let due = drafts.filter { waiting.hasReceiver(besides: $0.origin) }
        counts.queued += due.count
        counts.dropped += drafts.count - due.count
        if due.isEmpty { return }
        let limits = limits.notifications
        let now = surroundings.now()
        try await store.write(partition) { transaction in
            var queue = NotificationEnqueuing(
                try await transaction.notificationQueueHeader(), limits: limits, now: now)
            try await queue.enqueue(due, &transaction)
        }
    }
}

extension CarriedNotification.Content {
    fileprivate var isSharedChange: Bool { if case .sharedChange = self { true } else { false } }
}

extension CarriedNotification.SharedChange {
    /// The notification for a subscription to the shared database; nil if the change does not meet it.
    fileprivate func draft(
        for subscription: Subscription, of user: UserID, in container: ContainerID
    ) -> NotificationDraft? {
        guard case .database(let recordType) = subscription.interest else { return nil }
        if let recordType, recordTypes?.contains(recordType) != true { return nil }
        let notification = PushNotification(
            id: noticeID, container: container, user: user, subscriptionID: subscription.id, scope: .shared,
            subject: .database, presentation: subscription.notificationInfo?.withoutArguments ?? NotificationInfo())
        let key = subscription.notificationInfo?.collapseIDKey.map { "collapse/" + $0 }
        return NotificationDraft(
            collapseKey: key ?? "shared/" + subscription.id, origin: origin, payload: notification.payload())
    }
}

extension NotificationInfo {
    /// No record goes with the notification: there is nothing to put into its texts.
    fileprivate var withoutArguments: NotificationInfo {
        var result = self
        result.alertLocalizationArgs = alertLocalizationArgs.map { _ in "" }
        result.titleLocalizationArgs = titleLocalizationArgs.map { _ in "" }
        result.subtitleLocalizationArgs = subtitleLocalizationArgs.map { _ in "" }
        return result
    }
}
