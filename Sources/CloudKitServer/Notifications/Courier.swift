import CloudKitModel
import CloudKitRecordLayer

/// A way on which notifications reach devices: the web courier, for one; push services of platforms are others.
///
/// A courier reads the queue of a user for each device it serves, from the device's position on, and moves the position
/// when the device has what it was given: so everything arrives at least once, in order.
package protocol Courier: Sendable {
    /// The partition has changed; there may be notifications for its user's devices.
    func deliver(in partition: StoragePartition) async

    /// Works until the task is cancelled, then lets go of everyone who waits.
    func run() async
}

/// Carries notifications to their receivers' queues and wakes the couriers, while the cloud runs.
package struct NotificationDelivery: Sendable {
    private let cloud: Cloud
    private let couriers: [any Courier]

    package init(cloud: Cloud, couriers: [any Courier]) {
        self.cloud = cloud
        self.couriers = couriers
    }

    /// Follows the store's commits until the task is cancelled.
    ///
    /// - Parameter failed: Told of what the store throws; the outbox's worker tries again what could not be carried.
    package func run(failed: @escaping @Sendable (any Error) -> Void) async {
        let commits = cloud.store.commits()
        await withTaskGroup(of: Void.self) { group in
            for courier in couriers { group.addTask { await courier.run() } }
            group.addTask {
                for await partition in commits {
                    if Task.isCancelled { return }
                    do {
                        try await follow(partition)
                    } catch {
                        failed(error)
                    }
                }
            }
            // A stream of hints may have nothing more to say: cancelling ends it.
            await group.waitForAll()
        }
    }

    private func follow(_ partition: StoragePartition) async throws {
        // A transaction may have relied on a promise that has aged since.
        let isPromised = cloud.registry.isWorkPromised(
            in: partition, now: cloud.surroundings.now(), within: 2 * Registry.promiseFreshness)
        if isPromised {
            while try await cloud.carryNotifications(from: partition) {}
        }
        for courier in couriers { await courier.deliver(in: partition) }
    }
}
