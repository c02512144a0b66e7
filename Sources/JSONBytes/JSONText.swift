/// The inside of a JSON string, still in the document: a key, or a value that need not become a `String`.
///
/// Points into the document; use it only inside the `withJSON` that made it.
package struct JSONText {
    @usableFromInline let start: UnsafePointer<UInt8>
    /// Bytes between the quotes, escapes not undone.
    @usableFromInline let count: Int
    /// A flag for text with escapes, which differs from the string that it stands for.
    package let isEscaped: Bool

    init(start: UnsafePointer<UInt8>, count: Int, isEscaped: Bool) {
        self.start = start
        self.count = count
        self.isEscaped = isEscaped
    }

    /// The text with escapes undone.
    package var string: String {
        let raw = UnsafeBufferPointer(start: start, count: count)
        return isEscaped ? String(decoding: unescaped(), as: UTF8.self) : String(decoding: raw, as: UTF8.self)
    }

    /// The bytes with escapes undone.
    package var bytes: [UInt8] {
        isEscaped ? unescaped() : [UInt8](UnsafeBufferPointer(start: start, count: count))
    }

    /// Calls `body` with the bytes, escapes undone; nothing is copied where there are none.
    package func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        guard isEscaped else { return body(UnsafeBufferPointer(start: start, count: count)) }
        return unescaped().withUnsafeBufferPointer(body)
    }

    /// Whether the text is `pattern`; allocates nothing unless the text has escapes.
    @inlinable
    package static func ~= (pattern: StaticString, text: JSONText) -> Bool {
        if text.count == pattern.utf8CodeUnitCount { return text.hasBytes(of: pattern) }
        return text.isEscaped && text.unescapesTo(pattern)
    }

    /// Returns a Boolean value that indicates whether two values are equal.
    @inlinable
    package static func == (text: JSONText, pattern: StaticString) -> Bool { pattern ~= text }

    @usableFromInline
    func hasBytes(of pattern: StaticString) -> Bool {
        let other = pattern.utf8Start
        var index = 0
        while count - index >= 8 {
            if ByteWords.load(start + index) != ByteWords.load(other + index) { return false }
            index += 8
        }
        while index < count {
            if start[index] != other[index] { return false }
            index += 1
        }
        return true
    }

    @usableFromInline
    func unescapesTo(_ pattern: StaticString) -> Bool {
        unescaped().elementsEqual(UnsafeBufferPointer(start: pattern.utf8Start, count: pattern.utf8CodeUnitCount))
    }

    /// Undoes escapes that the reader has found valid.
    private func unescaped() -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(count)
        var index = 0
        while index < count {
            let stop = ByteWords.nextStringStop(start + index, start + count) - start
            result.append(contentsOf: UnsafeBufferPointer(start: start + index, count: stop - index))
            index = stop
            guard index + 1 < count else { break }
            let escape = start[index + 1]
            guard escape == UInt8(ascii: "u") else {
                result.append(Self.simpleEscape(escape) ?? escape)
                index += 2
                continue
            }
            index += appendScalar(at: index, to: &result)
        }
        return result
    }

    /// Appends the scalar that the `\u` escapes at `index` stand for; returns how many bytes they take.
    private func appendScalar(at index: Int, to result: inout [UInt8]) -> Int {
        let first = Self.hexQuad(start + index + 2, start + count) ?? 0xFFFD
        var value = first
        var length = 6
        if first & 0xFC00 == 0xD800, let second = Self.hexQuad(start + min(index + 8, count), start + count) {
            value = 0x10000 + ((first & 0x3FF) << 10) + (second & 0x3FF)
            length = 12
        }
        let scalar = Unicode.Scalar(value) ?? "\u{FFFD}"
        result.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
        return length
    }

    /// Returns the character of an escape with this letter after the backslash; nil if it is not one of JSON's.
    static func simpleEscape(_ letter: UInt8) -> UInt8? {
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): letter
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: nil
        }
    }

    /// Four hexadecimal digits at `cursor`.
    static func hexQuad(_ cursor: UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>) -> UInt32? {
        guard end - cursor >= 4 else { return nil }
        var value: UInt32 = 0
        for index in 0..<4 {
            let digit: UInt8
            switch cursor[index] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = cursor[index] - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = cursor[index] - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = cursor[index] - UInt8(ascii: "A") + 10
            default: return nil
            }
            value = value << 4 | UInt32(digit)
        }
        return value
    }
}
