import OrderedStore

/// The checksums of the values of one partition.
///
/// A checksum covers the store, the partition, the key and the value, so that a value is noticed that was changed, that was
/// moved to another key or partition, or that belongs to another store. 32 bits of XXH64: of random damage one in four
/// billion passes, and a row grows by five bytes.
struct ValueChecksum: Hashable, Sendable {
    private let seed: UInt64

    /// - Parameter salt: Drawn for each store.
    init(of partition: Partition, salt: UInt64) {
        seed = XXHash64.hash(Bytes(partition.name.utf8), seed: salt)
    }

    /// Returns the checksum of a value in the form in which it is stored.
    func sum(_ key: Bytes, _ value: UnsafeRawBufferPointer) -> Int64 {
        let hash = XXHash64.hash(value, seed: XXHash64.hash(key, seed: seed))
        return Int64(Int32(truncatingIfNeeded: hash ^ hash &>> 32))
    }

    /// Returns the checksum of a value in the form in which it is stored.
    func sum(_ key: Bytes, _ value: Bytes) -> Int64 {
        value.withUnsafeBytes { sum(key, $0) }
    }
}
