/// An element of the field of 2²⁵⁵ − 19 elements, in five limbs of 51 bits.
///
/// No operation branches on the value of an element, except for `isEqual`, `isNegative` and `isZero` through their results.
struct FieldElement: Sendable {
    private var l0: UInt64
    private var l1: UInt64
    private var l2: UInt64
    private var l3: UInt64
    private var l4: UInt64

    fileprivate static let mask: UInt64 = (1 << 51) - 1

    private init(_ l0: UInt64, _ l1: UInt64, _ l2: UInt64, _ l3: UInt64, _ l4: UInt64) {
        (self.l0, self.l1, self.l2, self.l3, self.l4) = (l0, l1, l2, l3, l4)
    }

    /// Passes what exceeds 51 bits of each sum to the next one.
    private init(_ t0: WideSum, _ t1: WideSum, _ t2: WideSum, _ t3: WideSum, _ t4: WideSum) {
        var (t1, t2, t3, t4) = (t1, t2, t3, t4)
        t1.add(t0.carry)
        t2.add(t1.carry)
        t3.add(t2.carry)
        t4.add(t3.carry)
        self = Self(t0.limb &+ 19 &* t4.carry, t1.limb, t2.limb, t3.limb, t4.limb).carried()
    }

    /// - Parameter small: Less than 2⁵¹.
    init(_ small: UInt64) { self.init(small, 0, 0, 0, 0) }

    /// Reads 255 bits, little-endian; the highest bit of the last byte is ignored.
    ///
    /// - Parameter bytes: 32 bytes.
    init(littleEndian bytes: [UInt8]) {
        func word(_ start: Int) -> UInt64 {
            (0..<8).reduce(0) { $0 | UInt64(bytes[start + $1]) << UInt64(8 * $1) }
        }
        let (w0, w1, w2, w3) = (word(0), word(8), word(16), word(24))
        self.init(
            w0 & Self.mask, (w0 >> 51 | w1 << 13) & Self.mask, (w1 >> 38 | w2 << 26) & Self.mask,
            (w2 >> 25 | w3 << 39) & Self.mask, (w3 >> 12) & Self.mask)
    }

    /// The canonical form: 32 bytes, little-endian, less than the field's prime.
    var littleEndian: [UInt8] {
        var reduced = carried()
        // The value is now below 2²⁵⁵ + 19 · a little: adding 19 carries into bit 255 if and only if it is at least the prime.
        var carry = (reduced.l0 &+ 19) &>> 51
        carry = (reduced.l1 &+ carry) &>> 51
        carry = (reduced.l2 &+ carry) &>> 51
        carry = (reduced.l3 &+ carry) &>> 51
        carry = (reduced.l4 &+ carry) &>> 51
        reduced.l0 &+= 19 &* carry
        reduced.passCarries()
        let words = [
            reduced.l0 | reduced.l1 << 51, reduced.l1 >> 13 | reduced.l2 << 38, reduced.l2 >> 26 | reduced.l3 << 25,
            reduced.l3 >> 39 | reduced.l4 << 12,
        ]
        return words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) } }
    }

    var isZero: Bool { littleEndian.allSatisfy { $0 == 0 } }

    /// The lowest bit of the canonical form, which RFC 8032 calls the sign.
    var isNegative: Bool { littleEndian[0] & 1 == 1 }

    func isEqual(to other: Self) -> Bool { littleEndian == other.littleEndian }

    /// Returns the element with limbs below 2⁵¹, but for a few bits of the first two.
    private func carried() -> Self {
        var result = self
        let carry = result.passCarries()
        result.l0 &+= 19 &* carry
        result.l1 &+= result.l0 &>> 51
        result.l0 &= Self.mask
        return result
    }

    /// Passes what exceeds 51 bits of each limb to the next one.
    ///
    /// - Returns: The carry out of the last limb, which is no longer in it.
    @discardableResult private mutating func passCarries() -> UInt64 {
        l1 &+= l0 &>> 51
        l0 &= Self.mask
        l2 &+= l1 &>> 51
        l1 &= Self.mask
        l3 &+= l2 &>> 51
        l2 &= Self.mask
        l4 &+= l3 &>> 51
        l3 &= Self.mask
        let carry = l4 &>> 51
        l4 &= Self.mask
        return carry
    }

    static func + (left: Self, right: Self) -> Self {
        Self(
            left.l0 &+ right.l0, left.l1 &+ right.l1, left.l2 &+ right.l2, left.l3 &+ right.l3, left.l4 &+ right.l4
        ).carried()
    }

    static func - (left: Self, right: Self) -> Self {
        // Four times the prime is added, so that no limb goes below zero.
        let low: UInt64 = 4 &* ((1 << 51) - 19)
        let high: UInt64 = 4 &* ((1 << 51) - 1)
        return Self(
            left.l0 &+ low &- right.l0, left.l1 &+ high &- right.l1, left.l2 &+ high &- right.l2,
            left.l3 &+ high &- right.l3, left.l4 &+ high &- right.l4
        ).carried()
    }

    static prefix func - (element: Self) -> Self { Self(0) - element }

    static func * (left: Self, right: Self) -> Self {
        let (r1, r2, r3, r4) = (19 &* right.l1, 19 &* right.l2, 19 &* right.l3, 19 &* right.l4)
        var t0 = WideSum(left.l0, right.l0)
        t0.add(left.l1, r4)
        t0.add(left.l2, r3)
        t0.add(left.l3, r2)
        t0.add(left.l4, r1)
        var t1 = WideSum(left.l0, right.l1)
        t1.add(left.l1, right.l0)
        t1.add(left.l2, r4)
        t1.add(left.l3, r3)
        t1.add(left.l4, r2)
        var t2 = WideSum(left.l0, right.l2)
        t2.add(left.l1, right.l1)
        t2.add(left.l2, right.l0)
        t2.add(left.l3, r4)
        t2.add(left.l4, r3)
        var t3 = WideSum(left.l0, right.l3)
        t3.add(left.l1, right.l2)
        t3.add(left.l2, right.l1)
        t3.add(left.l3, right.l0)
        t3.add(left.l4, r4)
        var t4 = WideSum(left.l0, right.l4)
        t4.add(left.l1, right.l3)
        t4.add(left.l2, right.l2)
        t4.add(left.l3, right.l1)
        t4.add(left.l4, right.l0)
        return Self(t0, t1, t2, t3, t4)
    }

    /// The element times itself, in three fifths of the products.
    var squared: Self {
        let (d0, d1) = (2 &* l0, 2 &* l1)
        let (r3, r4) = (19 &* l3, 19 &* l4)
        let (d3, d4) = (2 &* r3, 2 &* r4)
        var t0 = WideSum(l0, l0)
        t0.add(l1, d4)
        t0.add(l2, d3)
        var t1 = WideSum(d0, l1)
        t1.add(l2, d4)
        t1.add(l3, r3)
        var t2 = WideSum(d0, l2)
        t2.add(l1, l1)
        t2.add(l3, d4)
        var t3 = WideSum(d0, l3)
        t3.add(d1, l2)
        t3.add(l4, r4)
        var t4 = WideSum(d0, l4)
        t4.add(d1, l3)
        t4.add(l2, l2)
        return Self(t0, t1, t2, t3, t4)
    }

    private func squared(_ times: Int) -> Self {
        var result = self
        for _ in 0..<times { result = result.squared }
        return result
    }

    /// The powers 2²⁵⁰ − 1 and 11, from which the other ones are made.
    private var powers: (z250: Self, z11: Self) {
        let z2 = squared
        let z9 = z2.squared(2) * self
        let z11 = z9 * z2
        let z5 = z11.squared * z9
        let z10 = z5.squared(5) * z5
        let z20 = z10.squared(10) * z10
        let z40 = z20.squared(20) * z20
        let z50 = z40.squared(10) * z10
        let z100 = z50.squared(50) * z50
        let z200 = z100.squared(100) * z100
        return (z200.squared(50) * z50, z11)
    }

    /// The multiplicative inverse; zero for zero.
    var inverse: Self {
        let powers = powers
        return powers.z250.squared(5) * powers.z11
    }

    /// The element to the power of 2²⁵² − 3, which square roots are made of.
    var rootPower: Self { powers.z250.squared(2) * self }

    /// Returns one of two elements, without a branch.
    ///
    /// - Parameter mask: All bits set: `one`; none: `other`.
    static func select(_ mask: UInt64, _ one: Self, _ other: Self) -> Self {
        func choose(_ one: UInt64, _ other: UInt64) -> UInt64 { other ^ (mask & (one ^ other)) }
        return Self(
            choose(one.l0, other.l0), choose(one.l1, other.l1), choose(one.l2, other.l2), choose(one.l3, other.l3),
            choose(one.l4, other.l4))
    }

    /// A square root of −1: 2 to the power of (p − 1) / 4.
    static let rootOfMinusOne: Self = {
        // 2^(2^252 − 3) squared is 2^(2^253 − 6); (p − 1) / 4 = 2^253 − 5.
        let two = Self(2)
        return two.rootPower.squared * two
    }()

    /// The curve's constant: −121665 / 121666.
    static let curveConstant = -Self(121_665) * Self(121_666).inverse
    /// Twice the curve's constant.
    static let doubledCurveConstant = curveConstant + curveConstant
}

/// A sum of products in two words.
///
/// The operations name the words' own type: `UInt128` and shifts by other types are generic, and so take most of the time of
/// programs that are not optimised.
private struct WideSum {
    private var high: UInt64
    private var low: UInt64

    init(_ one: UInt64, _ other: UInt64) { (high, low) = one.multipliedFullWidth(by: other) }

    mutating func add(_ one: UInt64, _ other: UInt64) {
        let product = one.multipliedFullWidth(by: other)
        add(product.low)
        high = high &+ product.high
    }

    mutating func add(_ word: UInt64) {
        let (sum, isCarried) = low.addingReportingOverflow(word)
        low = sum
        high = high &+ (isCarried ? 1 : 0)
    }

    /// The lowest 51 bits.
    var limb: UInt64 { low & FieldElement.mask }

    /// What exceeds them.
    var carry: UInt64 { low &>> 51 | high &<< 13 }
}
