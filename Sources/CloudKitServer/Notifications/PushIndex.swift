import CloudKitRecordLayer
import Synchronization

/// The partitions whose users have an address with a push service, as far as this process knows: changes in others are
/// skipped at once.
final class PushIndex: Sendable {
    private let known = Mutex<Set<StoragePartition>>([])

    func insert(_ partition: StoragePartition) { known.withLock { _ = $0.insert(partition) } }

    func contains(_ partition: StoragePartition) -> Bool { known.withLock { $0.contains(partition) } }
}
