import OrderedStore

/// The first column of every key: 16 bytes that follow from a partition's name and the salt of the store.
///
/// Every node computes them by itself, so that no statement looks a number up and no node remembers any. They are hashes: two names
/// with the same one are found out when the second is first written to, because the row of a partition holds its name, and by the
/// checksums of the values, which cover the name.
struct PartitionKey: Hashable, Sendable {
    /// The stored form.
    let bytes: Bytes
    /// The checksums of the partition's values.
    let checksum: ValueChecksum

    init(of partition: Partition, salt: UInt64) {
        let name = Bytes(partition.name.utf8)
        let first = XXHash64.hash(name, seed: salt)
        let second = XXHash64.hash(name, seed: ~salt &* 0x9E37_79B9_7F4A_7C15)
        bytes = first.bigEndianBytes + second.bigEndianBytes
        checksum = ValueChecksum(of: partition, id: Int64(bitPattern: first ^ second), salt: salt)
    }
}

extension FixedWidthInteger {
    /// The bytes of the number, the highest first.
    var bigEndianBytes: Bytes {
        withUnsafeBytes(of: bigEndian) { Bytes($0) }
    }
}
