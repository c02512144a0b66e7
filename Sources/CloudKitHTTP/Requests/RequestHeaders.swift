import HTTPTypes
import NIOHTTP1

/// The header fields of a request as they arrived.
///
/// The parser has checked their names and values. They stay in the form that it gives them: nearly all requests are answered with a look
/// at each of them (``KnownHeaders``).
package struct RequestHeaders: Sequence, Sendable {
    private let fields: HTTPHeaders

    init(_ fields: HTTPHeaders) { self.fields = fields }

    /// Creates header fields of names and values.
    package init(_ fields: [(String, String)]) { self.fields = HTTPHeaders(fields) }

    /// The value of the fields with a name, nil where there is none; those of several are joined by commas (RFC 9110 §5.3), cookies by
    /// semicolons.
    package subscript(name: HTTPField.Name) -> String? {
        let canonicalName = name.canonicalName
        var value: String?
        for field in self where field.isNamed(canonicalName) {
            value = value.map { $0 + (name == .cookie ? "; " : ", ") + field.value } ?? field.value
        }
        return value
    }

    /// Returns the first name, in lower case, that begins with a text; nil where none does.
    func firstName(prefix: String) -> String? { lazy.map { $0.name.lowercased() }.first { $0.hasPrefix(prefix) } }

    /// Returns an iterator over the fields.
    package func makeIterator() -> Iterator { Iterator(fields: fields.makeIterator()) }

    /// The fields that are left.
    package struct Iterator: IteratorProtocol {
        fileprivate var fields: HTTPHeaders.Iterator

        /// Returns the next field; nil at the end.
        package mutating func next() -> RequestHeader? {
            guard let (name, value) = fields.next() else { return nil }
            return RequestHeader(name: name, text: value)
        }
    }
}

/// A header field of a request.
package struct RequestHeader: Sendable {
    /// The name, as the client writes it.
    package let name: String
    fileprivate let text: String

    /// The value without spaces and tabs around it, which do not count (RFC 9110 §5.5).
    package var value: String {
        func isBlank(_ byte: UInt8?) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        guard isBlank(text.utf8.first) || isBlank(text.utf8.last) else { return text }
        let start = text.utf8.drop { isBlank($0) }
        guard let end = start.lastIndex(where: { !isBlank($0) }) else { return "" }
        return String(Substring(start[...end]))
    }

    /// Returns whether the field has a name, which is given in lower case.
    func isNamed(_ name: String) -> Bool {
        guard self.name.utf8.count == name.utf8.count else { return false }
        return self.name.utf8.elementsEqual(name.utf8) { byte, wanted in
            let isUpper = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z")
            return (isUpper ? byte | 0x20 : byte) == wanted
        }
    }
}
