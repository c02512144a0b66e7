/// An integer modulo the order of the subgroup of edwards25519, q = 2²⁵² + 27742317777372353535851937790883648493.
///
/// No operation branches on a value.
struct CurveScalar: Sendable {
    // Four words of 64 bits, the lowest first; always below q.
    private var words: (UInt64, UInt64, UInt64, UInt64)

    private static let order: (UInt64, UInt64, UInt64, UInt64) = (
        0x5812_631a_5cf5_d3ed, 0x14de_f9de_a2f7_9cd6, 0, 0x1000_0000_0000_0000
    )

    private init(words: (UInt64, UInt64, UInt64, UInt64)) { self.words = words }

    /// Reduces a number of any length, little-endian.
    init(reducing bytes: [UInt8]) {
        self.init(words: (0, 0, 0, 0))
        for byte in bytes.reversed() {
            for bit in stride(from: UInt8(7), through: 0, by: -1) { doubleAndAdd(UInt64(byte >> bit & 1)) }
        }
    }

    /// Reads a number that has to be below the order, little-endian.
    ///
    /// - Returns: nil for one that is not, and for another count than 32 bytes.
    init?(canonical bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        self.init(reducing: bytes)
        guard self.bytes == bytes else { return nil }
    }

    /// 32 bytes, little-endian.
    var bytes: [UInt8] {
        [words.0, words.1, words.2, words.3].flatMap { word in
            (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) }
        }
    }

    static func + (left: Self, right: Self) -> Self {
        let (w0, c0) = left.words.0.addingReportingOverflow(right.words.0)
        let (w1, c1) = add(left.words.1, right.words.1, c0)
        let (w2, c2) = add(left.words.2, right.words.2, c1)
        let (w3, _) = add(left.words.3, right.words.3, c2)
        return Self(words: reduced((w0, w1, w2, w3)))
    }

    static func * (left: Self, right: Self) -> Self {
        var result = Self(words: (0, 0, 0, 0))
        for word in [right.words.3, right.words.2, right.words.1, right.words.0] {
            for bit in stride(from: UInt64(63), through: 0, by: -1) {
                result = result + result
                let sum = result + left
                let mask = 0 &- (word >> bit & 1)
                result.words.0 ^= mask & (result.words.0 ^ sum.words.0)
                result.words.1 ^= mask & (result.words.1 ^ sum.words.1)
                result.words.2 ^= mask & (result.words.2 ^ sum.words.2)
                result.words.3 ^= mask & (result.words.3 ^ sum.words.3)
            }
        }
        return result
    }

    private mutating func doubleAndAdd(_ bit: UInt64) {
        let doubled = (
            words.0 << 1 | bit, words.1 << 1 | words.0 >> 63, words.2 << 1 | words.1 >> 63,
            words.3 << 1 | words.2 >> 63
        )
        words = Self.reduced(doubled)
    }

    private static func add(_ one: UInt64, _ other: UInt64, _ carry: Bool) -> (UInt64, Bool) {
        let (sum, first) = one.addingReportingOverflow(other)
        let (total, second) = sum.addingReportingOverflow(carry ? 1 : 0)
        return (total, first || second)
    }

    private static func subtract(_ one: UInt64, _ other: UInt64, _ borrow: Bool) -> (UInt64, Bool) {
        let (difference, first) = one.subtractingReportingOverflow(other)
        let (total, second) = difference.subtractingReportingOverflow(borrow ? 1 : 0)
        return (total, first || second)
    }

    /// Subtracts the order once where the number is not below it.
    private static func reduced(
        _ words: (UInt64, UInt64, UInt64, UInt64)
    ) -> (UInt64, UInt64, UInt64, UInt64) {
        let (d0, b0) = words.0.subtractingReportingOverflow(order.0)
        let (d1, b1) = subtract(words.1, order.1, b0)
        let (d2, b2) = subtract(words.2, order.2, b1)
        let (d3, b3) = subtract(words.3, order.3, b2)
        let keep: UInt64 = 0 &- (b3 ? 1 : 0)
        return (
            d0 ^ (keep & (d0 ^ words.0)), d1 ^ (keep & (d1 ^ words.1)), d2 ^ (keep & (d2 ^ words.2)),
            d3 ^ (keep & (d3 ^ words.3))
        )
    }
}
