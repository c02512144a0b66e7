/// Base64 with the standard alphabet and padding (RFC 4648, section 4).
package enum Base64 {
    /// Appends the encoding of `bytes` to `output`.
    package static func encode(_ bytes: UnsafeBufferPointer<UInt8>, to output: inout [UInt8]) {
        Base64Alphabet.standard.encode(bytes, isPadded: true, to: &output)
    }

    /// Returns the encoding of `bytes`.
    package static func encode(_ bytes: [UInt8]) -> String {
        Base64Alphabet.standard.encode(bytes, isPadded: true)
    }

    /// Returns the bytes that `text` encodes; nil if it is not base64 with its padding.
    package static func decode(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard let symbolCount = symbolCount(text) else { return nil }
        return Base64Alphabet.standard.decode(UnsafeBufferPointer(rebasing: text[..<symbolCount]))
    }

    /// Returns the bytes that `text` encodes; nil if it is not base64 with its padding.
    package static func decode(_ text: String) -> [UInt8]? {
        var text = text
        return text.withUTF8 { decode($0) }
    }

    /// The form of a text that is meant to be base64.
    package enum Form: Hashable, Sendable {
        /// Not base64.
        case invalid
        /// Decodes, but unused bits are set: the same bytes have another encoding.
        case valid
        /// The one encoding of its bytes.
        case canonical
    }

    /// Returns the form of `text` without decoding it.
    package static func form(of text: UnsafeBufferPointer<UInt8>) -> Form {
        guard let symbolCount = symbolCount(text) else { return .invalid }
        return Base64Alphabet.standard.values.withUnsafeBufferPointer { values in
            var seen: UInt8 = 0
            var last: UInt8 = 0
            for index in 0..<symbolCount {
                last = values[Int(text[index])]
                seen |= last
            }
            if seen & 0x80 != 0 { return .invalid }
            switch symbolCount % 4 {
            case 2: return last & 15 == 0 ? .canonical : .valid
            case 3: return last & 3 == 0 ? .canonical : .valid
            default: return .canonical
            }
        }
    }

    /// Returns the number of symbols before the padding; nil if the length is not that of base64.
    private static func symbolCount(_ text: UnsafeBufferPointer<UInt8>) -> Int? {
        guard text.count % 4 == 0 else { return nil }
        guard let last = text.last else { return 0 }
        guard last == UInt8(ascii: "=") else { return text.count }
        return text[text.count - 2] == UInt8(ascii: "=") ? text.count - 2 : text.count - 1
    }
}
