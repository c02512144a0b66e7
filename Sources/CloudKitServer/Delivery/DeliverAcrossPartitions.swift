import CloudKitModel
import CloudKitRecordLayer

/// Moves notifications from the partition of a change into the queues of their receivers.
struct DeliverAcrossPartitions: Sendable {
    let cloud: Cloud

    init(_ cloud: Cloud) { self.cloud = cloud }

    /// Delivers notifications that wait in a partition to the queues of their receivers.
    ///
    /// Each receiver's queue is written before the job is done, together with the version up to which it was delivered: a crash between
    /// the two, or another node that delivers at the same time, leaves each notification in the queue once.
    ///
    /// - Returns: What was delivered; nil if nothing waited.
    @discardableResult
    func run(from partition: StoragePartition) async throws -> Outcome? {
        guard let place = DatabaseContext(partition: partition) else { return nil }
        // Two deliveries at once would do the same work twice.
        return try await cloud.deliveryTurns.withLock(partition) {
            let waiting = try await cloud.store.read(partition) { view in
                let waiting = try await view.crossPartitionNotifications(limit: Self.notificationsAtOnce)
                var members: [UInt32: [ShareMember]] = [:]
                for zone in CrossPartitionDelivery.zones(of: waiting) {
                    members[zone] = try await view.shareMembers(zone: zone)
                }
                return WaitingNotifications(partition: partition, notifications: waiting, members: members)
            }
            if waiting.notifications.isEmpty { return nil }
            let counts = try await deliver(waiting, in: place.address)
            try await cloud.store.write(partition) { transaction in
                for carried in waiting.notifications { transaction.clear(carried) }
            }
            report(counts, place)
            return Outcome(
                queued: counts.drafts.queued + counts.sharedUpdate.queued,
                mayBeMore: waiting.notifications.count == Self.notificationsAtOnce)
        }
    }

    /// The delivery of some notifications.
    struct Outcome: Sendable {
        /// The number of queued notifications.
        var queued: Int
        /// Whether more notifications may have waited than are delivered at once.
        var mayBeMore: Bool
    }

    private static var notificationsAtOnce: Int { 1000 }
    /// Queues written at the same time: they share syncs of the disk.
    private static var receiversAtOnce: Int { 16 }

    private func deliver(
        _ waiting: WaitingNotifications, in address: DatabaseAddress
    ) async throws -> DeliveryCounts {
        let delivery = waiting.delivery(after: 0)
        return try await withThrowingTaskGroup(of: DeliveryCounts.self) { group in
            var counts = DeliveryCounts()
            for (index, (receiver, items)) in delivery.items.enumerated() {
                if index >= Self.receiversAtOnce, let done = try await group.next() { counts.add(done) }
                group.addTask { try await deliver(items, of: waiting, to: receiver, address) }
            }
            for try await done in group { counts.add(done) }
            return counts
        }
    }

    private func deliver(
        _ all: [CrossPartitionDelivery.Item], of waiting: WaitingNotifications, to receiver: UserID,
        _ address: DatabaseAddress
    ) async throws -> DeliveryCounts {
        let partition = StoragePartition.privateDatabase(address.container, address.environment, of: receiver)
        let hasSharedUpdate = all.contains { if case .sharedUpdate = $0 { true } else { false } }
        while true {
            let (queue, subscriptions, delivered) = try await cloud.store.read(partition) { view in
                (
                    try await view.notificationQueueHeader(),
                    hasSharedUpdate ? try await view.subscriptions(of: receiver, in: .shared) : [],
                    try await view.deliveredVersion(from: waiting.partition)
                )
            }
            // Another node, or this one before a crash, may have delivered the first of them.
            let items =
                delivered < waiting.firstVersion ? all : waiting.delivery(after: delivered).items[receiver] ?? []
            var counts = DeliveryCounts()
            var due: [NotificationDraft] = []
            for item in items {
                let drafts =
                    switch item {
                    case .draft(let draft): [draft]
                    case .sharedUpdate(let sharedUpdate):
                        subscriptions.compactMap { sharedUpdate.draft(for: $0, of: receiver, in: address.container) }
                    }
                let wanted = drafts.filter { queue.hasReceiver(besides: $0.origin) }
                due += wanted
                counts.add(item, decided: drafts.count, queued: wanted.count)
            }
            if due.isEmpty { return counts }
            if try await enqueue(due, of: waiting, after: delivered, in: partition) { return counts }
        }
    }

    /// - Returns: Whether nothing was delivered meanwhile; otherwise nothing was queued.
    private func enqueue(
        _ drafts: [NotificationDraft], of waiting: WaitingNotifications, after delivered: UInt64,
        in partition: StoragePartition
    ) async throws -> Bool {
        let limits = cloud.limits.notifications
        let now = cloud.serverEnvironment.now()
        return try await cloud.store.write(partition) { transaction in
            guard try await transaction.deliveredVersion(from: waiting.partition) == delivered else { return false }
            var queue = NotificationEnqueuer(
                try await transaction.notificationQueueHeader(), limits: limits, now: now)
            try await queue.enqueue(drafts, &transaction)
            transaction.setDeliveredVersion(waiting.lastVersion, from: waiting.partition)
            return true
        }
    }

    private func report(_ counts: DeliveryCounts, _ place: DatabaseContext) {
        if counts.drafts.decided > 0 {
            let (queued, decided) = (counts.drafts.queued, counts.drafts.decided)
            cloud.notificationMetrics.record(.carried(place.address, count: queued, dropped: decided - queued))
        }
        if counts.sharedUpdate.decided > 0 {
            let shared = place.asShared
            let dropped = counts.sharedUpdate.decided - counts.sharedUpdate.queued
            cloud.notificationMetrics.record(
                .decided(
                    NotificationReport(
                        place: shared, decided: counts.sharedUpdate.decided,
                        dropped: dropped > 0 ? [.noOtherDevice: dropped] : [:])))
            cloud.notificationMetrics.record(.carried(shared.address, count: counts.sharedUpdate.queued, dropped: 0))
        }
    }
}

/// The oldest notifications that wait in a partition, in the order of their versions.
private struct WaitingNotifications: Sendable {
    var partition: StoragePartition
    var notifications: [CrossPartitionNotification]
    /// The members of the changed zones, by the zones' numbers.
    var members: [UInt32: [ShareMember]]

    var firstVersion: UInt64 { notifications.first?.version ?? 0 }
    var lastVersion: UInt64 { notifications.last?.version ?? 0 }

    /// Returns what receivers get of those after a version.
    func delivery(after version: UInt64) -> CrossPartitionDelivery {
        CrossPartitionDelivery(notifications.filter { $0.version > version }, from: partition, members: members)
    }
}

/// The number of notifications that were delivered across partitions.
private struct DeliveryCounts: Sendable {
    struct Count: Sendable {
        var decided = 0
        var queued = 0
    }

    /// Notifications that were decided with the change.
    var drafts = Count()
    /// Notifications that were decided by the receivers' subscriptions.
    var sharedUpdate = Count()

    mutating func add(_ item: CrossPartitionDelivery.Item, decided: Int, queued: Int) {
        switch item {
        case .draft:
            drafts.decided += decided
            drafts.queued += queued
        case .sharedUpdate:
            sharedUpdate.decided += decided
            sharedUpdate.queued += queued
        }
    }

    mutating func add(_ other: DeliveryCounts) {
        drafts.decided += other.drafts.decided
        drafts.queued += other.drafts.queued
        sharedUpdate.decided += other.sharedUpdate.decided
        sharedUpdate.queued += other.sharedUpdate.queued
    }
}

extension DatabaseContext {
    /// The same data as participants reach it.
    fileprivate var asShared: DatabaseContext {
        DatabaseContext(
            address: DatabaseAddress(
                container: address.container, environment: address.environment, scope: .shared),
            caller: caller, owner: owner, partition: partition, schemaPartition: schemaPartition)
    }
}
