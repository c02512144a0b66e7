import CloudKitModel
import CloudKitRecordLayer
import Synchronization

/// Sends notifications by push services: for devices that keep no connection of their own, such as browsers whose page
/// is closed.
///
/// A commit costs a lookup in a set of partitions and, for users with an address, an entry in a schedule; everything
/// else happens outside of the commit. One node sends for all; when it begins, every user with an address is visited once, so that no
/// notification waits for the next change.
package final class PushDeliveryService: NotificationTransport {
    private let batch: PushBatch
    private let schedule = Mutex(PushSchedule())
    /// Wakes `visit`; nil: this node does not send.
    private let signal = Mutex<AsyncStream<Void>.Continuation?>(nil)

    /// Whether the registry has changed, where other nodes note addresses.
    private let isRegistryChanged = Atomic(true)

    /// The interval at which the schedule is checked for due partitions.
    private static let tick = Duration.milliseconds(500)
    /// Ticks between two looks for addresses that hints may have missed: 5 seconds.
    private static let ticksOfPoll = 10
    /// The pause after a failure of the store.
    private static let failurePause = Duration.seconds(1)

    private var cloud: Cloud { batch.cloud }

    /// - Parameters:
    ///   - services: The enabled services; their names are distinct.
    ///   - isCurrent: Returns whether the session with this identifier is still valid.
    package init(
        cloud: Cloud, services: [any PushService],
        isCurrent: @escaping @Sendable (String) async throws -> Bool = { _ in true }
    ) {
        batch = PushBatch(
            cloud: cloud, services: Dictionary(services.map { ($0.name, $0) }, uniquingKeysWith: { $1 }),
            isCurrent: isCurrent)
    }

    /// Schedules a visit of the partition if its user has an address.
    package func deliver(in partition: StoragePartition) async {
        guard let signal = signal.withLock({ $0 }) else { return }
        if partition == .registry { return isRegistryChanged.store(true, ordering: .releasing) }
        guard cloud.pushIndex.contains(partition) else { return }
        schedule.withLock { $0.note(partition) }
        signal.yield()
    }

    /// Visits scheduled partitions while that is this node's work, until the task is cancelled.
    package func run() async { await cloud.nodes.run(.push) { await self.visit() } }

    private func visit() async {
        let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.signal.withLock { $0 = signal }
        defer { self.signal.withLock { $0 = nil } }
        await withDiscardingTaskGroup { group in
            group.addTask { await self.restoreIndex() }
            group.addTask {
                var ticks = 0
                while (try? await self.cloud.serverEnvironment.sleep(Self.tick)) != nil {
                    ticks += 1
                    if self.cloud.nodes.isShared {
                        await self.lookForNewAddresses(isDue: ticks % Self.ticksOfPoll == 0)
                    }
                    signal.yield()
                }
            }
            for await _ in signals {
                while let partition = schedule.withLock({ $0.begin(now: cloud.serverEnvironment.now()) }) {
                    group.addTask { await self.look(at: partition) }
                }
            }
            group.cancelAll()
        }
    }

    /// Learns of addresses that other nodes have registered.
    ///
    /// - Parameter isDue: Whether to look without a hint as well.
    private func lookForNewAddresses(isDue: Bool) async {
        guard isRegistryChanged.exchange(false, ordering: .acquiringAndReleasing) || isDue,
            let term = cloud.nodes.term(of: SharedWork.push.rawValue)
        else { return }
        do {
            let found = try await cloud.store.read(.registry) {
                try await $0.newlyPushedPartitions(limit: Self.partitionsAtOnce)
            }
            if found.isEmpty { return }
            for partition in found {
                cloud.pushIndex.insert(partition)
                schedule.withLock { $0.note(partition) }
            }
            // Not where another node has begun to send: it may have read the list of addresses before.
            try await cloud.store.write([.registry] + LeaseTerm.partitions(of: term)) { transaction in
                try await term.check(transaction)
                for partition in found { transaction.clearNewlyPushed(partition) }
            }
        } catch {
            isRegistryChanged.store(true, ordering: .releasing)
        }
    }

    /// Looks at a partition now, and says when to look again. For tests, which do not `run`.
    ///
    /// - Returns: Milliseconds since 1970; nil: nothing waits.
    @discardableResult
    package func deliverOnce(in partition: StoragePartition) async throws -> Int64? {
        try await batch.run(in: partition).again
    }

    private func look(at partition: StoragePartition) async {
        var result = PushBatch.Result()
        do {
            result = try await batch.run(in: partition)
            if !result.hasAddresses { try await forget(partition) }
        } catch {
            if !(error is CancellationError) {
                cloud.notificationMetrics.record(.pushFailed(error: String(describing: type(of: error))))
            }
            result.again = cloud.serverEnvironment.now() + PushBackoff.firstPause
        }
        schedule.withLock {
            $0.end(partition, hasSent: result.hasSent, again: result.again, now: cloud.serverEnvironment.now())
        }
        signal.withLock { $0 }?.yield()
    }

    // MARK: Across restarts

    private static let partitionsAtOnce = 500
    /// The age at which a mark may be removed, milliseconds: a mark is made before its address, which may not be stored
    /// yet.
    private static let markLifetime: Int64 = 300_000

    /// Looks at every partition with an address.
    private func restoreIndex() async {
        var last: StoragePartition?
        while !Task.isCancelled {
            let after = last
            let known = try? await cloud.store.read(.registry) {
                try await $0.pushedPartitions(after: after, limit: Self.partitionsAtOnce)
            }
            guard let known else {
                // The store is in trouble; it is asked again until it is not.
                try? await cloud.serverEnvironment.sleep(Self.failurePause)
                continue
            }
            for partition in known {
                cloud.pushIndex.insert(partition)
                schedule.withLock { $0.note(partition) }
            }
            signal.withLock { $0 }?.yield()
            last = known.last
            if known.count < Self.partitionsAtOnce { return }
        }
    }

    /// Forgets a partition whose user has no address any more: the next start need not visit it.
    private func forget(_ partition: StoragePartition) async throws {
        let marked = try await cloud.store.read(.registry) { try await $0.whenPushed(partition) }
        guard let marked, marked + Self.markLifetime < cloud.serverEnvironment.now() else { return }
        try await cloud.store.write(.registry) { try await $0.clearPushed(partition, marked: marked) }
    }
}
