import CloudKitModel
import CloudKitRecordLayer

/// A way on which notifications reach devices: `LongPollService`, for devices that poll, and `PushDeliveryService`, for devices
/// behind external push services. Another such service is a `PushService`, not another transport.
///
/// A transport reads the queue of a user for each device it serves, from the device's position on, and moves the position
/// when the device has what it was given: so everything arrives at least once, in order.
package protocol NotificationTransport: Sendable {
    /// The partition has changed; there may be notifications for its user's devices. Returns without waiting for external services:
    /// all transports receive all commits, one after the other.
    func deliver(in partition: StoragePartition) async

    /// Works until the task is cancelled, then ends all waiting requests.
    func run() async
}

/// Delivers notifications to their receivers' queues and wakes the transports, while the cloud runs.
package struct NotificationDelivery: Sendable {
    private let cloud: Cloud
    private let transports: [any NotificationTransport]

    /// Creates the delivery of a cloud's notifications by the given transports.
    package init(cloud: Cloud, transports: [any NotificationTransport]) {
        self.cloud = cloud
        self.transports = transports
    }

    /// Follows the store's commits until the task is cancelled.
    ///
    /// - Parameter failed: Receives the store's errors; the outbox's worker retries failed deliveries.
    package func run(failed: @escaping @Sendable (any Error) -> Void) async {
        let commits = cloud.store.commits()
        await withTaskGroup(of: Void.self) { group in
            for transport in transports { group.addTask { await transport.run() } }
            group.addTask {
                await withDiscardingTaskGroup { carriers in
                    for await partition in commits {
                        if Task.isCancelled { return }
                        // Transports do not wait for the delivery across partitions.
                        if mayHold(partition), cloud.deliveryPace.begin(partition) {
                            carriers.addTask { await carry(from: partition, failed: failed) }
                        }
                        for transport in transports { await transport.deliver(in: partition) }
                    }
                }
            }
            // A stream of hints may have nothing more to say: cancelling ends it.
            await group.waitForAll()
        }
    }

    /// Returns whether notifications may wait there for delivery across partitions.
    private func mayHold(_ partition: StoragePartition) -> Bool {
        // A transaction may have relied on a promise that has aged since.
        cloud.registry.hasPendingWork(
            in: partition, now: cloud.serverEnvironment.now(), within: 2 * PartitionRegistry.pendingWorkFreshness)
    }

    private func carry(from partition: StoragePartition, failed: @Sendable (any Error) -> Void) async {
        let serverEnvironment = cloud.serverEnvironment
        do {
            while true {
                let began = serverEnvironment.uptime()
                var queued: Int?
                while let outcome = try await DeliverAcrossPartitions(cloud).run(from: partition) {
                    queued = (queued ?? 0) + outcome.queued
                    if !outcome.mayBeMore { break }
                }
                if let queued {
                    try await serverEnvironment.sleep(
                        DeliveryPace.pause(after: serverEnvironment.uptime() - began, queued: queued))
                } else if cloud.deliveryPace.end(partition) {
                    return
                }
            }
        } catch {
            cloud.deliveryPace.stop(partition)
            if !(error is CancellationError) { failed(error) }
        }
    }
}
