/// The place of an entry in the tree: 256 bits, the most significant first.
package struct DirectoryIndex: Hashable, Sendable {
    private var words: Words

    /// Four numbers and not a `SIMD4`: an optimized async function that keeps a value aligned to more than 16 bytes gets too little memory
    /// from the compiler (Swift 6.3) and writes beyond it.
    private struct Words: Hashable {
        private var first: UInt64 = 0
        private var second: UInt64 = 0
        private var third: UInt64 = 0
        private var fourth: UInt64 = 0

        subscript(position: Int) -> UInt64 {
            get {
                switch position {
                case 0: first
                case 1: second
                case 2: third
                default: fourth
                }
            }
            set {
                switch position {
                case 0: first = newValue
                case 1: second = newValue
                case 2: third = newValue
                default: fourth = newValue
                }
            }
        }
    }

    /// The length in bytes.
    package static let byteCount = 32

    /// - Returns: nil for another count than 32 bytes.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        var words = Words()
        for (position, byte) in bytes.enumerated() {
            words[position / 8] |= UInt64(byte) << UInt64(56 - 8 * (position % 8))
        }
        self.words = words
    }

    private init(words: Words) { self.words = words }

    /// 32 bytes.
    package var bytes: [UInt8] {
        (0..<4).flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: words[word] >> UInt64(56 - 8 * $0)) } }
    }

    /// Returns the bit at a depth of the tree.
    func bit(_ depth: Int) -> Bool { words[depth / 64] >> UInt64(63 - depth % 64) & 1 == 1 }

    /// Returns the depth at which two indices differ first; nil for equal ones.
    func divergence(from other: Self) -> Int? {
        for word in 0..<4 where words[word] != other.words[word] {
            return 64 * word + (words[word] ^ other.words[word]).leadingZeroBitCount
        }
        return nil
    }

    /// Returns the first bits, with zeros behind them.
    func prefix(_ depth: Int) -> Self {
        var result = words
        for word in 0..<4 {
            let kept = min(max(depth - 64 * word, 0), 64)
            result[word] &= kept == 0 ? 0 : ~UInt64(0) << UInt64(64 - kept)
        }
        return Self(words: result)
    }
}
