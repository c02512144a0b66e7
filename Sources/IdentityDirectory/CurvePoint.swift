/// A point of the curve edwards25519 (RFC 7748 §4.1, RFC 8032 §5.1).
struct CurvePoint: Sendable {
    // Extended coordinates: x = X / Z, y = Y / Z, x · y = T / Z.
    private var x: FieldElement
    private var y: FieldElement
    private var z: FieldElement
    private var t: FieldElement

    private init(x: FieldElement, y: FieldElement, z: FieldElement, t: FieldElement) {
        (self.x, self.y, self.z, self.t) = (x, y, z, t)
    }

    /// The neutral element.
    static let identity = CurvePoint(x: FieldElement(0), y: FieldElement(1), z: FieldElement(1), t: FieldElement(0))

    /// The generator of the subgroup of prime order: the point with y = 4 / 5 and an even x.
    static let base: CurvePoint = {
        let y = FieldElement(4) * FieldElement(5).inverse
        // The constant is a point; the tests compare it with RFC 8032.
        return CurvePoint(bytes: y.littleEndian) ?? identity
    }()

    /// Decodes a point as RFC 8032 §5.1.3 does.
    ///
    /// - Parameter bytes: 32 bytes.
    /// - Returns: nil for bytes that encode no point.
    init?(bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        let y = FieldElement(littleEndian: bytes)
        let isNegative = bytes[31] >> 7 == 1
        var canonical = y.littleEndian
        canonical[31] |= bytes[31] & 0x80
        guard canonical == bytes else { return nil }
        let squared = y.squared
        let u = squared - FieldElement(1)
        let v = FieldElement.curveConstant * squared + FieldElement(1)
        let cubed = v.squared * v
        var x = u * cubed * (u * cubed.squared * v).rootPower
        let check = v * x.squared
        if check.isEqual(to: -u) {
            x = x * FieldElement.rootOfMinusOne
        } else if !check.isEqual(to: u) {
            return nil
        }
        if x.isZero, isNegative { return nil }
        if x.isNegative != isNegative { x = -x }
        self.init(x: x, y: y, z: FieldElement(1), t: x * y)
    }

    /// The encoded form: 32 bytes.
    var bytes: [UInt8] {
        let inverse = z.inverse
        var bytes = (y * inverse).littleEndian
        if (x * inverse).isNegative { bytes[31] |= 0x80 }
        return bytes
    }

    var isIdentity: Bool { x.isZero && y.isEqual(to: z) }

    static func + (left: Self, right: Self) -> Self {
        let a = (left.y - left.x) * (right.y - right.x)
        let b = (left.y + left.x) * (right.y + right.x)
        let c = left.t * FieldElement.doubledCurveConstant * right.t
        let product = left.z * right.z
        let d = product + product
        let (e, f, g, h) = (b - a, d - c, d + c, b + a)
        return Self(x: e * f, y: g * h, z: f * g, t: e * h)
    }

    static prefix func - (point: Self) -> Self { Self(x: -point.x, y: point.y, z: point.z, t: -point.t) }

    var doubled: Self {
        let a = x.squared
        let b = y.squared
        let half = z.squared
        let c = half + half
        let h = a + b
        let e = h - (x + y).squared
        let g = a - b
        let f = c + g
        return Self(x: e * f, y: g * h, z: f * g, t: e * h)
    }

    /// Eight times the point, which has no part of small order.
    var timesCofactor: Self { doubled.doubled.doubled }

    /// Returns a multiple of the point in time that does not depend on the scalar.
    ///
    /// - Parameter scalar: 32 bytes, little-endian.
    func multiplied(bySecret scalar: [UInt8]) -> Self {
        var result = Self.identity
        for position in stride(from: 255, through: 0, by: -1) {
            result = result.doubled
            let bit = UInt64(scalar[position / 8] >> UInt8(position % 8) & 1)
            result = Self.select(0 &- bit, result + self, result)
        }
        return result
    }

    /// Returns `one · scalar + other · otherScalar`, for values that are public.
    ///
    /// - Parameters:
    ///   - scalar: 32 bytes, little-endian.
    ///   - otherScalar: Up to 32 bytes, little-endian.
    static func sum(_ one: Self, times scalar: [UInt8], plus other: Self, times otherScalar: [UInt8]) -> Self {
        let both = one + other
        var result = identity
        for position in stride(from: 8 * max(scalar.count, otherScalar.count) - 1, through: 0, by: -1) {
            result = result.doubled
            func isSet(_ scalar: [UInt8]) -> Bool {
                position / 8 < scalar.count && scalar[position / 8] >> UInt8(position % 8) & 1 == 1
            }
            switch (isSet(scalar), isSet(otherScalar)) {
            case (true, true): result = result + both
            case (true, false): result = result + one
            case (false, true): result = result + other
            case (false, false): break
            }
        }
        return result
    }

    private static func select(_ mask: UInt64, _ one: Self, _ other: Self) -> Self {
        Self(
            x: .select(mask, one.x, other.x), y: .select(mask, one.y, other.y), z: .select(mask, one.z, other.z),
            t: .select(mask, one.t, other.t))
    }
}
