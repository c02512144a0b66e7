import OrderedStore
@_spi(_Unicode) import Swift

/// Text as indexes compare it: decomposed canonically, then every scalar in lower case.
///
/// Each scalar is folded on its own, so that folding a prefix gives a prefix of the folded text: one ordered index then
/// serves equality without case, prefixes (checked again on the record, with case), ranges and order (B-QRY-07). The
/// standard library keeps its decomposition as SPI; Foundation's would bring in ICU for this one function.
enum FoldedText {
    /// Bytes of UTF-8 that an index entry holds of a text; longer texts are compared again on the record.
    static let indexedBytesMax = 256

    /// Scalars that are folded for an index entry: more than it holds, so that marks which belong together are not parted within it.
    private static let scalarsMax = 4 * indexedBytesMax

    /// The folded text, whole.
    static func fold(_ text: String) -> Bytes {
        var text = text
        if let ascii = text.withUTF8({ foldASCII($0) }) { return ascii }
        var folded: Bytes = []
        for scalar in text._nfd { folded += scalar.properties.lowercaseMapping.utf8 }
        return folded
    }

    /// The text with canonically equivalent spellings made one; case stays.
    static func decomposed(_ text: String) -> Bytes {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return Bytes(text.utf8) }
        var result: Bytes = []
        for scalar in text._nfd { result += String(scalar).utf8 }
        return result
    }

    /// Returns the part of the text that an index entry holds, and whether that is all of it.
    static func indexed(_ text: String) -> (text: String, isWhole: Bool) {
        // Each scalar has a byte at least when it is folded: the rest of a long text is not looked at.
        let isCut = text.utf8.count > scalarsMax
        let folded = fold(isCut ? String(text.unicodeScalars.prefix(scalarsMax)) : text)
        if folded.count <= indexedBytesMax { return (String(decoding: folded, as: UTF8.self), true) }
        var end = indexedBytesMax
        // Not within a scalar: its later bytes begin with the bits 10.
        while end > 0, folded[end] & 0xC0 == 0x80 { end -= 1 }
        return (String(decoding: folded[..<end], as: UTF8.self), false)
    }

    private static func foldASCII(_ utf8: UnsafeBufferPointer<UInt8>) -> Bytes? {
        guard utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        return utf8.map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 }
    }
}
