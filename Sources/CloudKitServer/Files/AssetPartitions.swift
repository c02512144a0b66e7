import CloudKitRecordLayer
import Synchronization

/// Finds the databases that a file may belong to, by the tag in its id.
final class AssetPartitions: Sendable {
    private let store: Storage
    private let known = Mutex<[[UInt8]: [StoragePartition]]>([:])

    init(store: Storage) { self.store = store }

    /// Returns the partitions of tags; none for a tag that none has. A partition is listed before a file of its is
    /// sealed.
    func partitions(tagged tags: Set<[UInt8]>) async throws -> [[UInt8]: [StoragePartition]] {
        let missing = known.withLock { known in tags.contains { known[$0] == nil } }
        if missing {
            let all = try await store.read(.registry) { try await $0.knownPartitions(prefix: "") }
            let listed = Dictionary(grouping: all) { AssetFileID.tag(of: $0) }
            known.withLock { $0 = listed }
        }
        return known.withLock { known in known.filter { tags.contains($0.key) } }
    }
}
