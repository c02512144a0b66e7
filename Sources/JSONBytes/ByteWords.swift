/// Eight bytes at a time: marks the bytes of interest with their highest bit.
enum ByteWords {
    @inline(__always)
    static func repeating(_ byte: UInt8) -> UInt64 { UInt64(byte) &* 0x0101_0101_0101_0101 }

    @inline(__always)
    static func load(_ pointer: UnsafePointer<UInt8>) -> UInt64 {
        UInt64(littleEndian: UnsafeRawPointer(pointer).loadUnaligned(as: UInt64.self))
    }

    /// Marks quotes, backslashes and control characters.
    ///
    /// Marks above the lowest one may be wrong (a borrow runs upwards), the lowest one is exact.
    @inline(__always)
    static func stringStops(_ word: UInt64) -> UInt64 {
        let quote = word ^ repeating(0x22)
        let backslash = word ^ repeating(0x5C)
        let ones = repeating(0x01)
        let marks =
            ((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash) | ((word &- repeating(0x20)) & ~word)
        return marks & repeating(0x80)
    }

    /// The first byte from `cursor` on that ends or interrupts the inside of a JSON string; `end` if there is none.
    @inline(__always)
    static func nextStringStop(_ cursor: UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>) -> UnsafePointer<UInt8> {
        var cursor = cursor
        while end - cursor >= 8 {
            let stops = stringStops(load(cursor))
            if stops != 0 { return cursor + (stops.trailingZeroBitCount >> 3) }
            cursor += 8
        }
        while cursor < end {
            let byte = cursor.pointee
            if byte == 0x22 || byte == 0x5C || byte < 0x20 { return cursor }
            cursor += 1
        }
        return end
    }
}
