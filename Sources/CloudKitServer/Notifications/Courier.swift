import CloudKitModel
import CloudKitRecordLayer
import Synchronization

/// A way on which notifications reach devices: `WebCourier`, for devices that ask, and `PushCourier`, for those that services of
/// others ring at. Another such service is a `PushService`, not another courier.
///
/// A courier reads the queue of a user for each device it serves, from the device's position on, and moves the position
/// when the device has what it was given: so everything arrives at least once, in order.
package protocol Courier: Sendable {
    /// The partition has changed; there may be notifications for its user's devices. Returns without waiting for anybody outside:
    /// all couriers hear of all commits, one after the other.
    func deliver(in partition: StoragePartition) async

    /// Works until the task is cancelled, then lets go of everyone who waits.
    func run() async
}

/// Carries notifications to their receivers' queues and wakes the couriers, while the cloud runs.
package struct NotificationDelivery: Sendable {
    private let cloud: Cloud
    private let couriers: [any Courier]
    private let pace = CarryingPace()

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
                await withDiscardingTaskGroup { carriers in
                    for await partition in commits {
                        if Task.isCancelled { return }
                        // Nobody who waits here waits for what is carried to others.
                        if mayHold(partition), pace.begin(partition) {
                            carriers.addTask { await carry(from: partition, failed: failed) }
                        }
                        for courier in couriers { await courier.deliver(in: partition) }
                    }
                }
            }
            // A stream of hints may have nothing more to say: cancelling ends it.
            await group.waitForAll()
        }
    }

    /// Whether something may wait there to be carried.
    private func mayHold(_ partition: StoragePartition) -> Bool {
        // A transaction may have relied on a promise that has aged since.
        cloud.registry.isWorkPromised(
            in: partition, now: cloud.surroundings.now(), within: 2 * Registry.promiseFreshness)
    }

    private func carry(from partition: StoragePartition, failed: @Sendable (any Error) -> Void) async {
        let surroundings = cloud.surroundings
        do {
            while true {
                let began = surroundings.uptime()
                if let count = try await DeliverAcrossPartitions(cloud).run(from: partition) {
                    try await surroundings.rest(CarryingPace.rest(after: surroundings.uptime() - began, queued: count))
                } else if pace.end(partition) {
                    return
                }
            }
        } catch {
            pace.stop(partition)
            if !(error is CancellationError) { failed(error) }
        }
    }
}

/// Lets a partition be carried from by one at a time, and rest in between: what is written meanwhile is carried together.
///
/// The first change is told at once. Of many in a row, telling everybody takes a small part of the time, however many take
/// part.
final class CarryingPace: Sendable {
    /// Partitions that are carried from, and whether there was another commit since.
    private let busy = Mutex<[StoragePartition: Bool]>([:])

    /// Whether to begin; false: whoever is at it will look again.
    func begin(_ partition: StoragePartition) -> Bool {
        busy.withLock { busy in
            defer { busy[partition] = busy[partition] != nil }
            return busy[partition] == nil
        }
    }

    /// Whether there was no commit since; otherwise the one who asks goes on.
    func end(_ partition: StoragePartition) -> Bool {
        busy.withLock { busy in
            if busy[partition] == true {
                busy[partition] = false
                return false
            }
            busy[partition] = nil
            return true
        }
    }

    func stop(_ partition: StoragePartition) { busy.withLock { $0[partition] = nil } }

    /// What follows on carrying, waking devices and answering them, costs more than carrying: each counts for it.
    static func rest(after work: Duration, queued count: Int) -> Duration {
        min(max(work * 20, .milliseconds(20) * count), .seconds(2))
    }
}
