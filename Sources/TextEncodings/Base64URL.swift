/// Base64 with the alphabet that needs no escapes in URLs, without padding (RFC 4648, section 5).
package enum Base64URL {
    /// Returns the encoding of `bytes`.
    package static func encode(_ bytes: [UInt8]) -> String {
        Base64Alphabet.url.encode(bytes, isPadded: false)
    }

    /// Returns the bytes that `text` encodes, in this alphabet or the standard one, padded or not; nil if it has other characters.
    ///
    /// For values that clients escape, unescape and pad in different ways.
    package static func decode(_ text: String) -> [UInt8]? {
        let symbols = text.utf8.filter { $0 != UInt8(ascii: "=") }
        return symbols.withUnsafeBufferPointer { Base64Alphabet.urlOrStandard.decode($0) }
    }
}
