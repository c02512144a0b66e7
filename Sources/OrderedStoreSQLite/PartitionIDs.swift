import OrderedStore
import Synchronization

/// A partition as the file knows it.
struct StoredPartition: Sendable {
    /// The number of the partition in the file.
    var id: Int64
    /// The checksums of its values.
    var checksum: ValueChecksum
}

extension DamagedPlace {
    /// The structure of the file, which belongs to no value.
    static let structure = DamagedPlace(partition: Partition("store"), key: [])
}

/// The partitions known to be in the file, shared by all connections.
///
/// A partition's row is never changed or removed, by any process, so known numbers stay right.
final class PartitionIDs: Sendable {
    /// Reports values whose checksum does not hold.
    let damage = StoreDamage()
    private let known = Mutex<[Partition: StoredPartition]>([:])
    private let heldSalt = Mutex<UInt64>(0)

    /// The salt of the store's checksums; set before the first value is read or written.
    var salt: UInt64 {
        get { heldSalt.withLock { $0 } }
        set { heldSalt.withLock { $0 = newValue } }
    }

    subscript(partition: Partition) -> StoredPartition? {
        known.withLock { $0[partition] }
    }

    func add(_ partitions: [Partition: StoredPartition]) {
        if partitions.isEmpty { return }
        known.withLock { $0.merge(partitions) { _, new in new } }
    }

    /// Notes that the row with a key is damaged, and returns the error of the read that met it.
    func damaged(_ key: Bytes, in partition: Partition) -> StoreError {
        damage.note(DamagedPlace(partition: partition, key: key))
        return .damagedValue(in: partition)
    }

    /// Returns the checksum of a partition's name and number.
    func sum(_ name: Bytes, id: Int64) -> Int64 {
        Int64(bitPattern: XXHash64.hash(name, seed: salt &+ UInt64(bitPattern: id)))
    }

    /// Returns a partition with the number that it has in the file.
    func stored(_ partition: Partition, id: Int64) -> StoredPartition {
        StoredPartition(id: id, checksum: ValueChecksum(of: partition, id: id, salt: salt))
    }
}
