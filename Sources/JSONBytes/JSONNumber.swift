/// A JSON number, still in the document: the caller decides its type.
///
/// Points into the document; use it only inside the `withJSON` that made it.
package struct JSONNumber {
    /// The longest number that is read. Doubles need 25 bytes; more is an attack.
    package static let bytesMax = 512

    let start: UnsafePointer<UInt8>
    let count: Int
    /// Whether it is written without fraction and exponent.
    package let isInteger: Bool

    init(start: UnsafePointer<UInt8>, count: Int, isInteger: Bool) {
        self.start = start
        self.count = count
        self.isInteger = isInteger
    }

    /// Reads a number that stands alone, as in a string of `numbersAsStrings`; nil if the bytes are not one.
    package init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let start = bytes.baseAddress, let scan = Self.scan(start, start + bytes.count), scan.count == bytes.count
        else { return nil }
        self = scan
    }

    /// The number as it is written.
    package var bytes: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: start, count: count) }

    /// The exact integer; nil if there is a fraction or it does not fit.
    ///
    /// `5.0` and `1e3` are integers too, up to 2^53, beyond which not every integer is a double.
    package var int64: Int64? {
        guard isInteger else { return wholeDouble }
        var index = 0
        let isNegative = start[0] == UInt8(ascii: "-")
        if isNegative { index = 1 }
        if count - index <= 18 {
            var value: Int64 = 0
            while index < count {
                value = value &* 10 &+ Int64(start[index] &- UInt8(ascii: "0"))
                index += 1
            }
            return isNegative ? -value : value
        }
        return Int64(String(decoding: bytes, as: UTF8.self))
    }

    private var wholeDouble: Int64? {
        guard let double, double.magnitude <= 9_007_199_254_740_992 else { return nil }
        return Int64(whole: double)
    }

    /// The nearest double, exact in every bit; nil beyond the largest finite one.
    package var double: Double? {
        if let simple = simpleDouble { return simple }
        guard let value = Double(String(decoding: bytes, as: UTF8.self)), value.isFinite else { return nil }
        return value
    }

    /// Clinger's fast path: a mantissa and a power of ten that are both exact doubles give the nearest double.
    private var simpleDouble: Double? {
        var mantissa: UInt64 = 0
        var exponent = 0
        var index = 0
        let isNegative = start[0] == UInt8(ascii: "-")
        if isNegative { index = 1 }
        var isFraction = false
        var digits = 0
        while index < count {
            let byte = start[index]
            if byte == UInt8(ascii: ".") {
                isFraction = true
            } else if byte | 0x20 == UInt8(ascii: "e") {
                return nil
            } else {
                if digits > 0 || byte != UInt8(ascii: "0") { digits += 1 }
                guard digits <= 18 else { return nil }
                mantissa = mantissa &* 10 &+ UInt64(byte &- UInt8(ascii: "0"))
                if isFraction { exponent += 1 }
            }
            index += 1
        }
        guard mantissa <= 9_007_199_254_740_992, exponent <= 22 else { return nil }
        let value = exponent == 0 ? Double(mantissa) : Double(mantissa) / Self.powersOfTen[exponent]
        return isNegative ? -value : value
    }

    private static let powersOfTen: [Double] = [
        1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ]

    /// Whether the text is the one that Swift prints for its double, or becomes it by adding `.0`.
    ///
    /// True only where that is plain to see: at most 15 digits, no exponent, no superfluous zero.
    private var isShortest: Bool {
        var index = 0
        if start[0] == UInt8(ascii: "-") { index = 1 }
        guard count - index <= 16 else { return false }
        if isInteger { return count - index <= 15 }
        let isBelowOne = start[index] == UInt8(ascii: "0")
        while index < count, start[index] != UInt8(ascii: ".") {
            if start[index] | 0x20 == UInt8(ascii: "e") { return false }
            index += 1
        }
        let fraction = index + 1
        guard fraction < count else { return false }
        if isBelowOne {
            var zeros = 0
            while fraction + zeros < count, start[fraction + zeros] == UInt8(ascii: "0") { zeros += 1 }
            // Below 1e-4 Swift prints an exponent.
            if zeros > 3 { return false }
        }
        index = fraction
        while index < count {
            if start[index] | 0x20 == UInt8(ascii: "e") { return false }
            index += 1
        }
        return start[count - 1] != UInt8(ascii: "0") || count - fraction == 1
    }

    /// Appends the shortest decimal of the same double, `5.0` for 5; false beyond the largest finite one.
    package func appendCanonicalDouble(to output: inout [UInt8]) -> Bool {
        if isShortest {
            output.append(contentsOf: bytes)
            if isInteger { output.append(contentsOf: [UInt8(ascii: "."), UInt8(ascii: "0")]) }
            return true
        }
        guard let double else { return false }
        output.append(contentsOf: double.description.utf8)
        return true
    }

    /// The number at `cursor` by JSON's grammar; nil if there is none, or it is too long.
    static func scan(_ cursor: UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>) -> JSONNumber? {
        let start = cursor
        var cursor = cursor
        var isInteger = true
        if cursor < end, cursor.pointee == UInt8(ascii: "-") { cursor += 1 }
        if cursor < end, cursor.pointee == UInt8(ascii: "0") {
            cursor += 1
        } else {
            guard skipDigits(&cursor, end) else { return nil }
        }
        if cursor < end, cursor.pointee == UInt8(ascii: ".") {
            isInteger = false
            cursor += 1
            guard skipDigits(&cursor, end) else { return nil }
        }
        if cursor < end, cursor.pointee | 0x20 == UInt8(ascii: "e") {
            isInteger = false
            cursor += 1
            if cursor < end, cursor.pointee == UInt8(ascii: "+") || cursor.pointee == UInt8(ascii: "-") { cursor += 1 }
            guard skipDigits(&cursor, end) else { return nil }
        }
        guard cursor - start <= bytesMax else { return nil }
        return JSONNumber(start: start, count: cursor - start, isInteger: isInteger)
    }

    /// Skips digits; false if there is none.
    @inline(__always)
    private static func skipDigits(_ cursor: inout UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>) -> Bool {
        let start = cursor
        while cursor < end, cursor.pointee &- UInt8(ascii: "0") < 10 { cursor += 1 }
        return cursor > start
    }
}
