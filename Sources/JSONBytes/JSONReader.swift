/// Reads JSON by pulling: the caller says what it expects next. Bounded in depth, typed errors, no traps.
///
/// ```swift
/// try reader.beginObject()
/// while let key = try reader.nextKey() {
///     switch key {
///     case "zoneName": name = try reader.string()
///     default: try reader.skipValue()
///     }
/// }
/// ```
/// A value that is not consumed makes the next call throw.
package struct JSONReader {
    /// The depth to which arrays and objects may nest unless another is given.
    package static let depthMax = 64

    private let origin: UnsafePointer<UInt8>
    private let end: UnsafePointer<UInt8>
    private var cursor: UnsafePointer<UInt8>
    private var depthLeft: Int
    /// Whether an object or array was just entered: no comma is due.
    private var isFirst = false

    /// The bytes must be UTF-8.
    init(origin: UnsafePointer<UInt8>, start: UnsafePointer<UInt8>, end: UnsafePointer<UInt8>, depthLeft: Int) {
        self.origin = origin
        self.cursor = start
        self.end = end
        self.depthLeft = depthLeft
    }

    /// Bytes read so far, from the start of the document.
    package var offset: Int { cursor - origin }

    // MARK: Values

    /// The kind of the next value, by its first byte.
    package mutating func peekKind() throws(JSONError) -> JSONValue.Kind {
        switch try peekByte() {
        case UInt8(ascii: "\""): return .string
        case UInt8(ascii: "{"): return .object
        case UInt8(ascii: "["): return .array
        case UInt8(ascii: "t"): return .true
        case UInt8(ascii: "f"): return .false
        case UInt8(ascii: "n"): return .null
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
        default: throw error(.unexpectedByte)
        }
    }

    /// Goes past the next value, whatever it is, and returns it.
    package mutating func value() throws(JSONError) -> JSONValue {
        let kind = try peekKind()
        let start = cursor
        let depth = depthLeft
        let flag = try skip(kind)
        return JSONValue(
            kind: kind, flag: flag, depthLeft: depth, origin: origin, start: start, count: cursor - start)
    }

    /// Goes past the next value, whatever it is.
    package mutating func skipValue() throws(JSONError) {
        _ = try skip(try peekKind())
    }

    /// The next value's bytes without whitespace between its tokens.
    package mutating func rawValue() throws(JSONError) -> [UInt8] {
        let value = try value()
        var result: [UInt8] = []
        result.reserveCapacity(value.count)
        value.appendCompact(to: &result)
        return result
    }

    /// Goes past the next value if it is null.
    package mutating func readNull() throws(JSONError) -> Bool {
        guard try peekByte() == UInt8(ascii: "n") else { return false }
        try skipWord("null")
        return true
    }

    /// Reads a string, still in the document.
    package mutating func text() throws(JSONError) -> JSONText {
        guard try peekByte() == UInt8(ascii: "\"") else { throw unexpectedKind() }
        return try scanString()
    }

    /// Reads a string.
    package mutating func string() throws(JSONError) -> String { try text().string }

    /// Reads a number.
    package mutating func number() throws(JSONError) -> JSONNumber {
        guard try peekKind() == .number else { throw unexpectedKind() }
        return try scanNumber()
    }

    /// An exact integer; a fraction or one beyond 64 bits throws `invalidNumber`.
    package mutating func int64() throws(JSONError) -> Int64 {
        let start = offset
        guard let value = try number().int64 else { throw JSONError(.invalidNumber, offset: start) }
        return value
    }

    /// The nearest double; one beyond the largest finite double throws `invalidNumber`.
    package mutating func double() throws(JSONError) -> Double {
        let start = offset
        guard let value = try number().double else { throw JSONError(.invalidNumber, offset: start) }
        return value
    }

    /// Reads `true` or `false`.
    package mutating func bool() throws(JSONError) -> Bool {
        switch try peekByte() {
        case UInt8(ascii: "t"):
            try skipWord("true")
            return true
        case UInt8(ascii: "f"):
            try skipWord("false")
            return false
        default:
            throw unexpectedKind()
        }
    }

    // MARK: Objects and arrays

    /// Reads the beginning of an object.
    package mutating func beginObject() throws(JSONError) {
        guard try peekByte() == UInt8(ascii: "{") else { throw unexpectedKind() }
        try enter()
    }

    /// The next key of the object entered last, its value being next; nil once the object is over.
    package mutating func nextKey() throws(JSONError) -> JSONText? {
        guard try advance(to: UInt8(ascii: "}")) else { return nil }
        guard try peekByte() == UInt8(ascii: "\"") else { throw error(.unexpectedByte) }
        let key = try scanString()
        guard try peekByte() == UInt8(ascii: ":") else { throw error(.unexpectedByte) }
        cursor += 1
        return key
    }

    /// Reads the beginning of an array.
    package mutating func beginArray() throws(JSONError) {
        guard try peekByte() == UInt8(ascii: "[") else { throw unexpectedKind() }
        try enter()
    }

    /// Whether the array entered last has another element, which then is next.
    package mutating func nextElement() throws(JSONError) -> Bool {
        try advance(to: UInt8(ascii: "]"))
    }

    /// Reads an object, calling `body` for each key; `body` consumes the key's value.
    package mutating func object(_ body: (inout JSONReader, JSONText) throws -> Void) throws {
        try beginObject()
        while let key = try nextKey() { try body(&self, key) }
    }

    /// Reads an array, calling `body` for each element; `body` consumes it.
    package mutating func array(_ body: (inout JSONReader) throws -> Void) throws {
        try beginArray()
        while try nextElement() { try body(&self) }
    }

    /// Makes sure that nothing but whitespace is left.
    package mutating func finish() throws(JSONError) {
        skipWhitespace()
        guard cursor == end else { throw error(.trailingBytes) }
    }

    /// Returns the error for a next value of another kind than expected: at its position, or at the end of the bytes.
    package mutating func unexpectedKind() -> JSONError {
        skipWhitespace()
        return error(cursor == end ? .unexpectedEnd : .unexpectedKind)
    }

    // MARK: Bytes

    private func error(_ reason: JSONError.Reason) -> JSONError {
        JSONError(cursor < end ? reason : reason == .trailingBytes ? reason : .unexpectedEnd, offset: cursor - origin)
    }

    @inline(__always)
    private mutating func skipWhitespace() {
        while cursor < end {
            switch cursor.pointee {
            case 0x20, 0x0A, 0x0D, 0x09: cursor += 1
            default: return
            }
        }
    }

    @inline(__always)
    private mutating func peekByte() throws(JSONError) -> UInt8 {
        skipWhitespace()
        guard cursor < end else { throw JSONError(.unexpectedEnd, offset: cursor - origin) }
        return cursor.pointee
    }

    private mutating func enter() throws(JSONError) {
        guard depthLeft > 0 else { throw error(.tooDeep) }
        depthLeft -= 1
        cursor += 1
        isFirst = true
    }

    /// Goes past the comma that is due; false, past `close`, if that comes instead.
    @inline(__always)
    private mutating func advance(to close: UInt8) throws(JSONError) -> Bool {
        let byte = try peekByte()
        if byte == close {
            cursor += 1
            depthLeft += 1
            isFirst = false
            return false
        }
        if isFirst {
            isFirst = false
            return true
        }
        guard byte == UInt8(ascii: ",") else { throw error(.unexpectedByte) }
        cursor += 1
        // A comma promises another entry.
        if try peekByte() == close { throw error(.unexpectedByte) }
        return true
    }

    /// Goes past a value of this kind; returns what `JSONValue.flag` says.
    private mutating func skip(_ kind: JSONValue.Kind) throws(JSONError) -> Bool {
        switch kind {
        case .string: return try scanString().isEscaped
        case .number: return try scanNumber().isInteger
        case .true: try skipWord("true")
        case .false: try skipWord("false")
        case .null: try skipWord("null")
        case .object:
            try enter()
            while try nextKey() != nil { try skipValue() }
        case .array:
            try enter()
            while try nextElement() { try skipValue() }
        }
        return false
    }

    private mutating func skipWord(_ word: StaticString) throws(JSONError) {
        let count = word.utf8CodeUnitCount
        for index in 0..<count {
            guard end - cursor > 0, cursor.pointee == word.utf8Start[index] else { throw error(.unexpectedByte) }
            cursor += 1
        }
    }

    private mutating func scanNumber() throws(JSONError) -> JSONNumber {
        guard let number = JSONNumber.scan(cursor, end) else { throw JSONError(.invalidNumber, offset: offset) }
        cursor += number.count
        return number
    }

    /// Goes past the string whose opening quote is next.
    private mutating func scanString() throws(JSONError) -> JSONText {
        cursor += 1
        let start = cursor
        var isEscaped = false
        while true {
            cursor = ByteWords.nextStringStop(cursor, end)
            guard cursor < end else { throw error(.unexpectedEnd) }
            switch cursor.pointee {
            case UInt8(ascii: "\""):
                let text = JSONText(start: start, count: cursor - start, isEscaped: isEscaped)
                cursor += 1
                return text
            case UInt8(ascii: "\\"):
                isEscaped = true
                try skipEscape()
            default:
                throw error(.controlCharacter)
            }
        }
    }

    private mutating func skipEscape() throws(JSONError) {
        guard end - cursor >= 2 else { throw JSONError(.unexpectedEnd, offset: offset) }
        guard cursor[1] == UInt8(ascii: "u") else {
            guard JSONText.simpleEscape(cursor[1]) != nil else { throw error(.invalidEscape) }
            cursor += 2
            return
        }
        guard let unit = JSONText.hexQuad(cursor + 2, end) else { throw error(.invalidEscape) }
        guard unit & 0xF800 == 0xD800 else {
            cursor += 6
            return
        }
        guard unit & 0xFC00 == 0xD800, end - cursor >= 12, cursor[6] == UInt8(ascii: "\\"),
            cursor[7] == UInt8(ascii: "u"), let low = JSONText.hexQuad(cursor + 8, end), low & 0xFC00 == 0xDC00
        else { throw error(.invalidEscape) }
        cursor += 12
    }
}

/// Reads `bytes` as one JSON document: checks that they are UTF-8, calls `body`, checks that nothing is left.
///
/// - Throws: `JSONError`, and whatever `body` throws.
package func withJSON<Result>(
    _ bytes: [UInt8], depthMax: Int = JSONReader.depthMax, _ body: (inout JSONReader) throws -> Result
) throws -> Result {
    try bytes.withUnsafeBytes { buffer in try withJSON(buffer, depthMax: depthMax, body) }
}

/// Reads `bytes` as one JSON document, as the function for arrays does.
package func withJSON<Result>(
    _ bytes: UnsafeRawBufferPointer, depthMax: Int = JSONReader.depthMax,
    _ body: (inout JSONReader) throws -> Result
) throws -> Result {
    guard let address = bytes.baseAddress, !bytes.isEmpty else { throw JSONError(.unexpectedEnd, offset: 0) }
    if let offset = UTF8Validity.firstError(in: bytes) { throw JSONError(.invalidUTF8, offset: offset) }
    let start = address.assumingMemoryBound(to: UInt8.self)
    var reader = JSONReader(origin: start, start: start, end: start + bytes.count, depthLeft: depthMax)
    let result = try body(&reader)
    try reader.finish()
    return result
}
