/// The checksums of the keys and values of one partition, 48 bits for each entry.
///
/// The upper 16 bits cover the store, the partition's number and the key, so that an entry found in place of another one is
/// recognised without its value. The lower 32 bits cover the partition's name and the value as well, so that a value is noticed
/// that was changed, that was moved to another key or partition, or that belongs to another store. Both are parts of XXH64: of
/// randomly damaged keys one in 65,536 passes, of values one in four billion, and a row grows by seven bytes.
package struct ValueChecksum: Hashable, Sendable {
    private let keySeed: UInt64
    private let valueSeed: UInt64

    /// - Parameters:
    ///   - id: The number of the partition in the file.
    ///   - salt: Drawn for each store.
    package init(of partition: Partition, id: Int64, salt: UInt64) {
        keySeed = Self.keySeed(id, salt)
        valueSeed = XXHash64.hash(Bytes(partition.name.utf8), seed: salt)
    }

    /// Returns the checksum of an entry in the form in which it is stored.
    package func sum(_ key: Bytes, _ value: UnsafeRawBufferPointer) -> Int64 {
        let keyHash = XXHash64.hash(key, seed: keySeed)
        let hash = XXHash64.hash(value, seed: keyHash ^ valueSeed)
        return Self.keyPart(keyHash) << 32 | Int64(UInt32(truncatingIfNeeded: hash ^ hash &>> 32))
    }

    /// Returns the checksum of an entry in the form in which it is stored.
    package func sum(_ key: Bytes, _ value: Bytes) -> Int64 {
        value.withUnsafeBytes { sum(key, $0) }
    }

    /// Returns the checksum of an entry whose value is stored apart: it covers the key alone.
    package func sum(_ key: Bytes) -> Int64 {
        Self.keyPart(XXHash64.hash(key, seed: keySeed)) << 32
    }

    /// Whether the checksum of an entry in the partition with a number is one of its key, whatever the value.
    package static func holds(_ sum: Int64, key: Bytes, partition id: Int64, salt: UInt64) -> Bool {
        sum >> 32 == keyPart(XXHash64.hash(key, seed: keySeed(id, salt)))
    }

    private static func keySeed(_ id: Int64, _ salt: UInt64) -> UInt64 {
        salt ^ UInt64(bitPattern: id) &* 0x9E37_79B9_7F4A_7C15
    }

    /// Signed, so that the whole is a number of 48 bits in the file.
    private static func keyPart(_ hash: UInt64) -> Int64 { Int64(Int16(truncatingIfNeeded: hash &>> 48)) }
}
