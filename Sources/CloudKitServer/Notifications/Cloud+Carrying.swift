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
        var drafts: [UserID: [NotificationDraft]] = [:]
        for carried in waiting { drafts[carried.receiver, default: []].append(carried.draft) }
        var dropped = 0
        for (receiver, drafts) in drafts {
            if try await !enqueue(drafts, for: receiver, place.address) { dropped += drafts.count }
        }
        try await store.write(partition) { transaction in
            for carried in waiting { transaction.clear(carried) }
        }
        noticeBoard.tell(.carried(place.address, count: waiting.count - dropped, dropped: dropped))
        return true
    }

    private static var carriedAtOnce: Int { 200 }

    /// Whether anybody waits for them.
    private func enqueue(
        _ drafts: [NotificationDraft], for receiver: UserID, _ address: DatabaseAddress
    ) async throws -> Bool {
        let partition = StoragePartition.privateDatabase(address.container, address.environment, of: receiver)
        let waiting = try await store.read(partition) { try await $0.notificationQueueHeader() }
        let due = drafts.filter { waiting.hasReceiver(besides: $0.origin) }
        if due.isEmpty { return false }
        let limits = limits.notifications
        let now = surroundings.now()
        try await store.write(partition) { transaction in
            var queue = NotificationEnqueuing(
                try await transaction.notificationQueueHeader(), limits: limits, now: now)
            try await queue.enqueue(due, &transaction)
        }
        return true
    }
}
