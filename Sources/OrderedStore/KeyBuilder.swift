/// Builds a key of typed elements whose bytes compare as the elements do, one after another.
///
/// The form is FoundationDB's tuple layer: an element is a type code and its value. Elements of different types order
/// as null, bytes, strings, integers, doubles. `range` spans all keys that begin with the elements so far.
package struct KeyBuilder: Sendable {
    /// The key so far.
    package private(set) var bytes: Bytes

    /// - Parameter capacity: The expected size of the key in bytes.
    package init(capacity: Int = 64) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    /// Continues a key built before.
    package init(prefix: Bytes, capacity: Int = 64) {
        bytes = []
        bytes.reserveCapacity(prefix.count + capacity)
        bytes += prefix
    }

    /// The range of every key that begins with the elements so far, and of none that merely begins with their bytes:
    /// the bytes of "a" are also those at the front of "a\0".
    package var range: KeyRange {
        // No element begins with FF, but an escaped zero byte goes on with it.
        KeyRange(lower: bytes, upper: bytes + [KeyCode.escape])
    }

    /// Appends elements that were built before.
    package mutating func append(_ elements: KeyBuilder) {
        bytes += elements.bytes
    }

    /// Appends a null, which precedes every other element.
    package mutating func appendNull() {
        bytes.append(KeyCode.null)
    }

    /// Appends a byte string.
    package mutating func append(_ value: Bytes) {
        bytes.append(KeyCode.bytes)
        appendEscaped(value)
        bytes.append(0)
    }

    /// Strings order by their Unicode scalars; nothing is normalised.
    package mutating func append(_ value: String) {
        appendStart(of: value)
        bytes.append(0)
    }

    /// The beginning of a string element: what `range` then spans are the strings that begin with `value`.
    ///
    /// Nothing may be appended after it.
    package mutating func appendStart(of value: String) {
        bytes.append(KeyCode.string)
        var value = value
        value.withUTF8 { appendEscaped($0) }
    }

    /// Appends an integer.
    package mutating func append(_ value: Int64) {
        let length = (64 - value.magnitude.leadingZeroBitCount + 7) / 8
        let code = Int(KeyCode.zero) + (value < 0 ? -length : length)
        bytes.append(UInt8(truncatingIfNeeded: code))
        // A negative number is stored as its distance from the lowest of its length.
        appendBigEndian(value < 0 ? ~value.magnitude : value.magnitude, length: length)
    }

    /// Appends an integer.
    package mutating func append(_ value: Int) {
        append(Int64(value))
    }

    /// Doubles order as numbers; −0 is 0, and not-a-number comes last.
    package mutating func append(_ value: Double) {
        let pattern = (value.isNaN ? Double.nan : value == 0 ? 0 : value).bitPattern
        let isNegative = pattern >> 63 == 1
        bytes.append(KeyCode.double)
        appendBigEndian(isNegative ? ~pattern : pattern | 1 << 63, length: 8)
    }

    private mutating func appendBigEndian(_ value: UInt64, length: Int) {
        for index in stride(from: length - 1, through: 0, by: -1) {
            bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * index)))
        }
    }

    /// A zero byte ends the element; one inside becomes 00 FF, which still orders right.
    private mutating func appendEscaped(_ value: some Collection<UInt8>) {
        if !value.contains(0) {
            bytes.append(contentsOf: value)
            return
        }
        for byte in value {
            bytes.append(byte)
            if byte == 0 { bytes.append(KeyCode.escape) }
        }
    }
}

/// The first byte of an element, which is its kind.
enum KeyCode {
    static let null: UInt8 = 0x00
    static let bytes: UInt8 = 0x01
    static let string: UInt8 = 0x02
    /// Less or more by the number of bytes that follow, for negative and positive integers.
    static let zero: UInt8 = 0x14
    static let lowestInteger: UInt8 = 0x0C
    static let highestInteger: UInt8 = 0x1C
    static let double: UInt8 = 0x21
    static let escape: UInt8 = 0xFF
}
