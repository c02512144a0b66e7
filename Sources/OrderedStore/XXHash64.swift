/// The 64-bit hash function XXH64: fast on every processor, with published test values.
///
/// It notices accidents, not attacks.
package enum XXHash64 {
    private static let prime1: UInt64 = 0x9E37_79B1_85EB_CA87
    private static let prime2: UInt64 = 0xC2B2_AE3D_27D4_EB4F
    private static let prime3: UInt64 = 0x1656_67B1_9E37_79F9
    private static let prime4: UInt64 = 0x85EB_CA77_C2B2_AE63
    private static let prime5: UInt64 = 0x27D4_EB2F_1656_67C5

    /// Returns the hash of bytes.
    package static func hash(_ bytes: Bytes, seed: UInt64) -> UInt64 {
        bytes.withUnsafeBytes { hash($0, seed: seed) }
    }

    /// Returns the hash of a buffer.
    package static func hash(_ buffer: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
        let count = buffer.count
        var offset = 0
        var hash = seed &+ prime5
        if count >= 32 {
            hash = stripes(buffer, seed: seed)
            offset = count & ~31
        }
        hash &+= UInt64(truncatingIfNeeded: count)
        while offset &+ 8 <= count {
            hash ^= round(0, word(buffer, offset))
            hash = rotate(hash, 27) &* prime1 &+ prime4
            offset &+= 8
        }
        if offset &+ 4 <= count {
            let half = UInt32(littleEndian: buffer.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
            hash ^= UInt64(half) &* prime1
            hash = rotate(hash, 23) &* prime2 &+ prime3
            offset &+= 4
        }
        while offset < count {
            hash ^= UInt64(buffer[offset]) &* prime5
            hash = rotate(hash, 11) &* prime1
            offset &+= 1
        }
        return avalanche(hash)
    }

    /// Hashes all whole groups of 32 bytes in four lanes.
    private static func stripes(_ buffer: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
        var lane1 = seed &+ prime1 &+ prime2
        var lane2 = seed &+ prime2
        var lane3 = seed
        var lane4 = seed &- prime1
        let end = buffer.count & ~31
        var offset = 0
        while offset < end {
            lane1 = round(lane1, word(buffer, offset))
            lane2 = round(lane2, word(buffer, offset &+ 8))
            lane3 = round(lane3, word(buffer, offset &+ 16))
            lane4 = round(lane4, word(buffer, offset &+ 24))
            offset &+= 32
        }
        var hash = rotate(lane1, 1) &+ rotate(lane2, 7) &+ rotate(lane3, 12) &+ rotate(lane4, 18)
        hash = merge(hash, lane1)
        hash = merge(hash, lane2)
        hash = merge(hash, lane3)
        return merge(hash, lane4)
    }

    @inline(__always)
    private static func word(_ buffer: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
        UInt64(littleEndian: buffer.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    @inline(__always)
    private static func round(_ lane: UInt64, _ word: UInt64) -> UInt64 {
        rotate(lane &+ word &* prime2, 31) &* prime1
    }

    @inline(__always)
    private static func merge(_ hash: UInt64, _ lane: UInt64) -> UInt64 {
        (hash ^ round(0, lane)) &* prime1 &+ prime4
    }

    @inline(__always)
    private static func rotate(_ value: UInt64, _ bits: UInt64) -> UInt64 {
        value &<< bits | value &>> (64 &- bits)
    }

    private static func avalanche(_ value: UInt64) -> UInt64 {
        var hash = value
        hash = (hash ^ hash &>> 33) &* prime2
        hash = (hash ^ hash &>> 29) &* prime3
        return hash ^ hash &>> 32
    }
}
