import OrderedStore
import Synchronization

/// The numbers of partitions known to be in the file, shared by all connections.
///
/// A partition's row is never changed or removed, by any process, so known numbers stay right.
final class PartitionIDs: Sendable {
    private let known = Mutex<[Partition: Int64]>([:])

    subscript(partition: Partition) -> Int64? {
        known.withLock { $0[partition] }
    }

    func add(_ partitions: [Partition: Int64]) {
        if partitions.isEmpty { return }
        known.withLock { $0.merge(partitions) { _, new in new } }
    }
}
