import TextEncodings

/// Writes JSON without whitespace to the end of an array of bytes; commas come by themselves.
package struct JSONWriter {
    /// The JSON written so far.
    package var bytes: [UInt8]

    /// - Parameter capacity: The expected size of the JSON in bytes.
    package init(capacity: Int = 256) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    /// Writes a comma if one is due. No value ends in one of these bytes, so the last byte alone decides.
    @inline(__always)
    private mutating func separate() {
        switch bytes.last {
        case nil, UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: ":"): break
        default: bytes.append(UInt8(ascii: ","))
        }
    }

    @inline(__always)
    private mutating func append(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    // MARK: Objects and arrays

    /// Begins an object.
    package mutating func beginObject() {
        separate()
        bytes.append(UInt8(ascii: "{"))
    }

    /// Ends an object.
    package mutating func endObject() { bytes.append(UInt8(ascii: "}")) }

    /// Begins an array.
    package mutating func beginArray() {
        separate()
        bytes.append(UInt8(ascii: "["))
    }

    /// Ends an array.
    package mutating func endArray() { bytes.append(UInt8(ascii: "]")) }

    /// A key that needs no escapes; its value comes next.
    package mutating func key(_ key: StaticString) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        append(key)
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
    }

    /// Any key; its value comes next.
    package mutating func key(_ key: String) {
        string(key)
        bytes.append(UInt8(ascii: ":"))
    }

    /// Any key, as UTF-8; its value comes next.
    package mutating func key(utf8 key: UnsafeRawBufferPointer) {
        separate()
        JSONWriter.appendString(utf8: key.assumingMemoryBound(to: UInt8.self), to: &bytes)
        bytes.append(UInt8(ascii: ":"))
    }

    /// Writes an object; `body` writes its keys and values.
    package mutating func object(_ body: (inout JSONWriter) -> Void) {
        beginObject()
        body(&self)
        endObject()
    }

    /// Writes an array; `body` writes its elements.
    package mutating func array(_ body: (inout JSONWriter) -> Void) {
        beginArray()
        body(&self)
        endArray()
    }

    // MARK: Values

    /// Writes a string with the escapes that it needs.
    package mutating func string(_ value: String) {
        separate()
        JSONWriter.appendString(value, to: &bytes)
    }

    /// A string that needs no escapes.
    package mutating func word(_ value: StaticString) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        append(value)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Writes an integer.
    package mutating func int64(_ value: Int64) {
        separate()
        JSONWriter.appendInt64(value, to: &bytes)
    }

    /// The shortest decimal that reads back as the same double; null for what JSON cannot say (not a number, infinite).
    package mutating func double(_ value: Double) {
        separate()
        JSONWriter.appendDouble(value, to: &bytes)
    }

    /// Writes `true` or `false`.
    package mutating func bool(_ value: Bool) {
        separate()
        append(value ? "true" : "false")
    }

    /// Writes `null`.
    package mutating func null() {
        separate()
        append("null")
    }

    /// Writes bytes as a string of base64.
    package mutating func base64(_ value: [UInt8]) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        value.withUnsafeBufferPointer { Base64.encode($0, to: &bytes) }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Bytes that already are one JSON value.
    package mutating func raw(_ value: [UInt8]) {
        separate()
        bytes.append(contentsOf: value)
    }

    /// Bytes that already are JSON with everything it needs around it, comma and colon included.
    package mutating func splice(_ text: StaticString) { append(text) }

    /// As `splice(_:)`.
    package mutating func splice(_ text: [UInt8]) { bytes.append(contentsOf: text) }

    /// As `splice(_:)`.
    package mutating func splice(_ text: UnsafeRawBufferPointer) { bytes.append(contentsOf: text) }

    // MARK: Pieces

    /// Appends a quoted string; escapes only what JSON demands.
    package static func appendString(_ value: String, to output: inout [UInt8]) {
        let isContiguous: Void? = value.utf8.withContiguousStorageIfAvailable { appendString(utf8: $0, to: &output) }
        if isContiguous == nil { Array(value.utf8).withUnsafeBufferPointer { appendString(utf8: $0, to: &output) } }
    }

    /// Appends a quoted string of UTF-8 bytes.
    package static func appendString(utf8: UnsafeBufferPointer<UInt8>, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        if let start = utf8.baseAddress {
            let end = start + utf8.count
            var cursor = start
            while true {
                let stop = ByteWords.nextStringStop(cursor, end)
                output.append(contentsOf: UnsafeBufferPointer(start: cursor, count: stop - cursor))
                guard stop < end else { break }
                appendEscape(of: stop.pointee, to: &output)
                cursor = stop + 1
            }
        }
        output.append(UInt8(ascii: "\""))
    }

    private static func appendEscape(of byte: UInt8, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): output.append(byte)
        case 0x08: output.append(UInt8(ascii: "b"))
        case 0x0C: output.append(UInt8(ascii: "f"))
        case 0x0A: output.append(UInt8(ascii: "n"))
        case 0x0D: output.append(UInt8(ascii: "r"))
        case 0x09: output.append(UInt8(ascii: "t"))
        default:
            let digits: StaticString = "0123456789abcdef"
            output.append(contentsOf: [UInt8(ascii: "u"), UInt8(ascii: "0"), UInt8(ascii: "0")])
            output.append(digits.utf8Start[Int(byte >> 4)])
            output.append(digits.utf8Start[Int(byte & 15)])
        }
    }

    /// Appends the decimal form of an integer.
    package static func appendInt64(_ value: Int64, to output: inout [UInt8]) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var index = 20
            var left = value.magnitude
            repeat {
                index -= 1
                digits[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: left % 10)
                left /= 10
            } while left > 0
            if value < 0 {
                index -= 1
                digits[index] = UInt8(ascii: "-")
            }
            output.append(contentsOf: UnsafeBufferPointer(rebasing: digits[index...]))
        }
    }

    /// Appends the shortest decimal that reads back as the same double, `5.0` for 5; null if it is not finite.
    package static func appendDouble(_ value: Double, to output: inout [UInt8]) {
        if value.isFinite {
            output.append(contentsOf: value.description.utf8)
        } else {
            output.append(contentsOf: "null".utf8)
        }
    }
}
