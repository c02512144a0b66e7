import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Random bits of the system, drawn for many identifiers at once: a call of the system takes longer than all else about one.
enum RandomReserve {
    private static let words = Mutex<[UInt64]>([])
    /// 256 bytes, the most that the system gives at once.
    private static let count = 32

    /// Returns 128 random bits, each drawn once.
    static func next() -> (UInt64, UInt64) {
        words.withLock { words in
            if words.isEmpty { words = draw() }
            return (words.removeLast(), words.removeLast())
        }
    }

    private static func draw() -> [UInt64] {
        var words = [UInt64](repeating: 0, count: count)
        let isDrawn = words.withUnsafeMutableBytes { bytes in
            bytes.baseAddress.map { getentropy($0, bytes.count) == 0 } ?? false
        }
        guard !isDrawn else { return words }
        var random = SystemRandomNumberGenerator()
        return words.map { _ in random.next() }
    }
}
