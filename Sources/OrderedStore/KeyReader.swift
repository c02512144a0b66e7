/// Takes a key apart into the elements that a `KeyBuilder` put into it.
///
/// Every method that reads throws `StoreError.Code.corrupt` when the next element is of another type, or is not what
/// a builder makes; the position is then undefined.
package struct KeyReader: Sendable {
    /// The kind of the next element.
    package enum Kind: Hashable, Sendable {
        case null, bytes, string, integer, double
    }

    private let bytes: Bytes
    private var next: Int

    /// - Parameter prefixCount: Bytes at the front to pass over, as when keys share a known prefix.
    package init(_ bytes: Bytes, after prefixCount: Int = 0) {
        self.bytes = bytes
        next = min(max(prefixCount, 0), bytes.count)
    }

    /// Whether all elements were read.
    package var isAtEnd: Bool { next == bytes.count }

    /// The bytes of the elements not yet read.
    package var rest: ArraySlice<UInt8> { bytes[next...] }

    /// The type of the next element; nil at the end, or when it is none.
    package var kind: Kind? {
        if isAtEnd { return nil }
        return switch bytes[next] {
        case KeyCode.null: .null
        case KeyCode.bytes: .bytes
        case KeyCode.string: .string
        case KeyCode.lowestInteger...KeyCode.highestInteger: .integer
        case KeyCode.double: .double
        default: nil
        }
    }

    /// Reads a null.
    package mutating func readNull() throws(StoreError) {
        try take(KeyCode.null)
    }

    /// Reads a byte string.
    package mutating func readBytes() throws(StoreError) -> Bytes {
        try take(KeyCode.bytes)
        return try unescaped()
    }

    /// Reads a text.
    package mutating func readString() throws(StoreError) -> String {
        try take(KeyCode.string)
        guard let string = String(validating: try unescaped(), as: UTF8.self) else { throw .malformedKey }
        return string
    }

    /// Reads an integer.
    package mutating func readInteger() throws(StoreError) -> Int64 {
        guard kind == .integer else { throw .malformedKey }
        let length = Int(bytes[next]) - Int(KeyCode.zero)
        next += 1
        return length < 0 ? try negative(length: -length) : try positive(length: length)
    }

    /// Reads a double.
    package mutating func readDouble() throws(StoreError) -> Double {
        try take(KeyCode.double)
        let pattern = try bigEndian(length: 8)
        return Double(bitPattern: pattern >> 63 == 1 ? pattern & ~(1 << 63) : ~pattern)
    }

    /// Passes over the next element, whatever it is.
    package mutating func skip() throws(StoreError) {
        switch kind {
        case .null: try readNull()
        case .bytes: _ = try readBytes()
        case .string: _ = try readString()
        case .integer: _ = try readInteger()
        case .double: _ = try readDouble()
        case nil: throw .malformedKey
        }
    }
}

extension KeyReader {
    private mutating func take(_ code: UInt8) throws(StoreError) {
        guard !isAtEnd, bytes[next] == code else { throw .malformedKey }
        next += 1
    }

    private mutating func positive(length: Int) throws(StoreError) -> Int64 {
        let magnitude = try bigEndian(length: length)
        guard let value = Int64(exactly: magnitude), Self.length(of: magnitude) == length else {
            throw .malformedKey
        }
        return value
    }

    private mutating func negative(length: Int) throws(StoreError) -> Int64 {
        // Bits above the stored ones were set when the magnitude was inverted.
        let above: UInt64 = length == 8 ? 0 : ~0 << UInt64(8 * length)
        let magnitude = ~(try bigEndian(length: length) | above)
        guard magnitude <= 1 << 63, Self.length(of: magnitude) == length else { throw .malformedKey }
        return Int64(truncatingIfNeeded: 0 &- magnitude)
    }

    /// The fewest bytes that hold `magnitude`: a longer form would not order right.
    private static func length(of magnitude: UInt64) -> Int {
        (64 - magnitude.leadingZeroBitCount + 7) / 8
    }

    private mutating func bigEndian(length: Int) throws(StoreError) -> UInt64 {
        guard bytes.count - next >= length else { throw .malformedKey }
        var value: UInt64 = 0
        for byte in bytes[next..<(next + length)] { value = value << 8 | UInt64(byte) }
        next += length
        return value
    }

    private mutating func unescaped() throws(StoreError) -> Bytes {
        var value: Bytes = []
        while let zero = bytes[next...].firstIndex(of: 0) {
            value += bytes[next..<zero]
            next = zero + 1
            guard next < bytes.count, bytes[next] == KeyCode.escape else { return value }
            value.append(0)
            next += 1
        }
        throw .malformedKey
    }
}
