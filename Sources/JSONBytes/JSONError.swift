/// The reason why bytes are not the JSON that was asked for, and the position.
package struct JSONError: Error, Hashable, Sendable {
    /// The kinds of error.
    package enum Reason: Hashable, Sendable {
        case unexpectedByte
        case unexpectedEnd
        /// The value is well formed, but not of the kind that was asked for.
        case unexpectedKind
        case invalidUTF8
        /// An unknown escape, or one half of a surrogate pair alone.
        case invalidEscape
        case controlCharacter
        /// Not a JSON number, longer than `JSONNumber.bytesMax`, or beyond what was asked for.
        case invalidNumber
        case tooDeep
        case trailingBytes
    }

    /// The kind of error.
    package let reason: Reason
    /// Bytes from the start of the document.
    package let offset: Int

    /// Creates an error at an offset.
    package init(_ reason: Reason, offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    /// The place in lines and columns, both from 1, columns in bytes.
    package func position(in document: [UInt8]) -> (line: Int, column: Int) {
        var line = 1
        var lineStart = 0
        for index in 0..<min(offset, document.count) where document[index] == UInt8(ascii: "\n") {
            line += 1
            lineStart = index + 1
        }
        return (line, max(offset - lineStart, 0) + 1)
    }
}
