/// Whether bytes are well-formed UTF-8.
package enum UTF8Validity {
    /// The offset of the first byte that cannot be part of UTF-8; nil if all is well.
    package static func firstError(in bytes: UnsafeRawBufferPointer) -> Int? {
        guard let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return nil }
        let end = start + bytes.count
        var cursor = start
        while true {
            while end - cursor >= 8, ByteWords.load(cursor) & ByteWords.repeating(0x80) == 0 { cursor += 8 }
            while cursor < end, cursor.pointee < 0x80 { cursor += 1 }
            guard cursor < end else { return nil }
            let length = scalarLength(cursor, end)
            guard length > 0 else { return cursor - start }
            cursor += length
        }
    }

    /// The length of the multi-byte scalar at `cursor`; 0 if it is not well formed (Unicode, table 3-7).
    private static func scalarLength(_ cursor: UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>) -> Int {
        let left = end - cursor
        func follows(_ index: Int, _ range: ClosedRange<UInt8> = 0x80...0xBF) -> Bool {
            index < left && range.contains(cursor[index])
        }
        switch cursor.pointee {
        case 0xC2...0xDF: return follows(1) ? 2 : 0
        case 0xE0: return follows(1, 0xA0...0xBF) && follows(2) ? 3 : 0
        case 0xED: return follows(1, 0x80...0x9F) && follows(2) ? 3 : 0
        case 0xE1...0xEF: return follows(1) && follows(2) ? 3 : 0
        case 0xF0: return follows(1, 0x90...0xBF) && follows(2) && follows(3) ? 4 : 0
        case 0xF1...0xF3: return follows(1) && follows(2) && follows(3) ? 4 : 0
        case 0xF4: return follows(1, 0x80...0x8F) && follows(2) && follows(3) ? 4 : 0
        default: return 0
        }
    }
}
