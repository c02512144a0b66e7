import CloudKitRecordLayer
import Synchronization

/// Allows one delivery at a time from a partition, with pauses in between: later changes are delivered together.
///
/// The first change is delivered at once. Of many in a row, delivery takes a small part of the time, however many members
/// there are.
final class DeliveryPace: Sendable {
    /// Partitions with a running delivery, and whether there was another commit since.
    private let busy = Mutex<[StoragePartition: Bool]>([:])
    /// The uptime until which partitions rest after a delivery by the outbox.
    private let rests = Mutex<[StoragePartition: Duration]>([:])

    /// Returns whether to begin; false: the running delivery will look again.
    func begin(_ partition: StoragePartition) -> Bool {
        busy.withLock { busy in
            defer { busy[partition] = busy[partition] != nil }
            return busy[partition] == nil
        }
    }

    /// Returns whether there was no commit since; otherwise the delivery continues.
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

    /// Returns whether the outbox delivers what waits in a partition: not while a delivery runs, which looks again by itself, or while the
    /// partition rests.
    func outboxMayDeliver(_ partition: StoragePartition, now: Duration) -> Bool {
        if busy.withLock({ $0[partition] != nil }) { return false }
        return rests.withLock { $0[partition] ?? now } <= now
    }

    /// Lets a partition rest after a delivery by the outbox.
    func rest(_ partition: StoragePartition, after work: Duration, queued count: Int, now: Duration) {
        rests.withLock { rests in
            rests = rests.filter { $0.value > now }
            rests[partition] = now + Self.pause(after: work, queued: count)
        }
    }

    /// Returns the pause after a delivery. Waking and answering devices costs more than the delivery, so each notification counts.
    static func pause(after work: Duration, queued count: Int) -> Duration {
        min(max(work * 10, .milliseconds(2) * count), .seconds(2))
    }
}
