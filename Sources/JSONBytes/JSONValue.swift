/// A value that the reader has gone past and found well formed, still in the document.
///
/// Points into the document; use it only inside the `withJSON` that made it. It lets `type` come after `value`.
package struct JSONValue {
    /// The kinds of JSON values.
    package enum Kind: UInt8, Hashable, Sendable {
        case null, `false`, `true`, number, string, object, array
    }

    /// The kind of the value.
    package let kind: Kind
    /// For strings: has escapes; for numbers: has neither fraction nor exponent.
    let flag: Bool
    let depthLeft: Int
    let origin: UnsafePointer<UInt8>
    let start: UnsafePointer<UInt8>
    let count: Int

    /// Whether the value is null.
    package var isNull: Bool { kind == .null }

    /// Bytes from the start of the document.
    package var offset: Int { start - origin }

    /// The value's bytes as they came, whitespace included.
    package var bytes: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: start, count: count) }

    /// The text of a string; nil for other kinds.
    package var text: JSONText? {
        guard kind == .string else { return nil }
        return JSONText(start: start + 1, count: count - 2, isEscaped: flag)
    }

    /// The number; nil for other kinds.
    package var number: JSONNumber? {
        guard kind == .number else { return nil }
        return JSONNumber(start: start, count: count, isInteger: flag)
    }

    /// The value of `true` and `false`; nil for other kinds.
    package var bool: Bool? {
        switch kind {
        case .true: true
        case .false: false
        default: nil
        }
    }

    /// A reader that begins at this value and ends with it; its errors count from the start of the document.
    package var reader: JSONReader {
        JSONReader(origin: origin, start: start, end: start + count, depthLeft: depthLeft)
    }

    /// Appends the value without whitespace between its tokens; strings and numbers as they came.
    package func appendCompact(to output: inout [UInt8]) {
        guard kind == .object || kind == .array else {
            output.append(contentsOf: bytes)
            return
        }
        let end = start + count
        var cursor = start
        while cursor < end {
            switch cursor.pointee {
            case 0x20, 0x0A, 0x0D, 0x09:
                cursor += 1
            case UInt8(ascii: "\""):
                let close = Self.closingQuote(after: cursor + 1, end)
                output.append(contentsOf: UnsafeBufferPointer(start: cursor, count: close - cursor))
                cursor = close
            default:
                output.append(cursor.pointee)
                cursor += 1
            }
        }
    }

    /// The byte after the quote that ends the string whose inside begins at `cursor`.
    private static func closingQuote(
        after cursor: UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>
    ) -> UnsafePointer<UInt8> {
        var cursor = ByteWords.nextStringStop(cursor, end)
        while cursor < end, cursor.pointee != UInt8(ascii: "\"") {
            cursor = ByteWords.nextStringStop(min(cursor + 2, end), end)
        }
        return min(cursor + 1, end)
    }
}
