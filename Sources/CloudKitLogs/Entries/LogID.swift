/// The identifier of an entry and of its request: a UUID of version 7, which begins with the time, so that a store finds an entry by
/// its identifier without an index of all identifiers.
package struct LogID: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The first eight bytes: 48 bits of milliseconds since 1970, the version, 12 random bits.
    package let high: UInt64
    /// The last eight bytes: the variant and 62 random bits.
    package let low: UInt64

    /// Creates an identifier from its bytes, whatever they are.
    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Creates the identifier of something that began at a time.
    ///
    /// - Parameters:
    ///   - milliseconds: The time since 1970.
    ///   - random: 74 random bits, as the low bits of two numbers.
    package init(milliseconds: Int64, random: (UInt64, UInt64)) {
        high = UInt64(truncatingIfNeeded: milliseconds) << 16 | 0x7000 | random.0 & 0x0FFF
        low = random.1 & ~(0b11 << 62) | 0b10 << 62
    }

    /// Creates a random identifier.
    package init(milliseconds: Int64) {
        self.init(milliseconds: milliseconds, random: RandomReserve.next())
    }

    /// Reads the form of a UUID, in either case; nil for another text.
    package init?(_ text: String) {
        guard text.utf8.count == 36, let (lower, upper) = Self.range(ofPrefix: text), lower == upper else { return nil }
        self = lower
    }

    /// Milliseconds since 1970 at which the request began.
    package var milliseconds: Int64 { Int64(high >> 16) }

    /// The UUID in lower case.
    package var description: String {
        String(unsafeUninitializedCapacity: 36) { text in
            var position = 0
            for index in 0..<16 {
                if index == 4 || index == 6 || index == 8 || index == 10 {
                    text[position] = UInt8(ascii: "-")
                    position += 1
                }
                let half = index < 8 ? high : low
                let byte = UInt8(truncatingIfNeeded: half >> UInt64(56 - 8 * (index % 8)))
                text[position] = Self.digit(byte >> 4)
                text[position + 1] = Self.digit(byte & 15)
                position += 2
            }
            return position
        }
    }

    /// Returns a Boolean value that indicates whether the left identifier is the earlier one.
    package static func < (left: LogID, right: LogID) -> Bool {
        left.high == right.high ? left.low < right.low : left.high < right.high
    }

    /// Returns the first and the last identifier that begin with a text; nil for a text with other characters than those of a UUID, and for
    /// an empty one.
    package static func range(ofPrefix text: String) -> (lower: LogID, upper: LogID)? {
        var high: UInt64 = 0
        var low: UInt64 = 0
        var digits = 0
        for byte in text.utf8 {
            guard byte != UInt8(ascii: "-") else { continue }
            guard let value = value(of: byte), digits < 32 else { return nil }
            if digits < 16 { high = high << 4 | value } else { low = low << 4 | value }
            digits += 1
        }
        guard digits > 0 else { return nil }
        let highRest = UInt64(4 * max(0, 16 - digits))
        let lowRest = UInt64(4 * min(16, 32 - digits))
        let lower = LogID(high: high << highRest, low: lowRest == 64 ? 0 : low << lowRest)
        let upper = LogID(
            high: lower.high | (1 << highRest &- 1), low: lowRest == 64 ? .max : lower.low | (1 << lowRest &- 1))
        return (lower, upper)
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    private static func value(of digit: UInt8) -> UInt64? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(digit - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(digit - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt64(digit - UInt8(ascii: "A") + 10)
        default: nil
        }
    }
}
