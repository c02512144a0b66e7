extension String {
    /// The text as one segment of a URL's path or one value of its query: all bytes but letters, digits and `.-_~` as `%XX`.
    package var percentEncoded: String {
        var result = ""
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let hex = String(byte, radix: 16, uppercase: true)
                result += byte < 16 ? "%0\(hex)" : "%\(hex)"
            }
        }
        return result
    }

    /// Decodes each `%XX` of a path or query; nil if an escape is broken or the bytes are not UTF-8.
    package init?(percentEncoded text: some Collection<UInt8>) {
        // The bytes are read through a pointer: a generic loop is not specialized for callers in other modules.
        guard let decoded = text.withContiguousStorageIfAvailable({ String(percentEncoded: $0) }) else {
            self.init(percentEncoded: Array(text))
            return
        }
        guard let decoded else { return nil }
        self = decoded
    }

    /// Decodes each `%XX` of a path or query; nil if an escape is broken or the bytes are not UTF-8.
    package init?(percentEncoded text: UnsafeBufferPointer<UInt8>) {
        // Most texts are plain ASCII, which needs no further look.
        var common: UInt8 = 0
        var hasEscape = false
        for byte in text {
            common |= byte
            if byte == UInt8(ascii: "%") { hasEscape = true }
        }
        if !hasEscape, common < 0x80 {
            self.init(decoding: text, as: UTF8.self)
            return
        }
        guard let decoded = decodePercentEncoding(text) else { return nil }
        self = decoded
    }
}

/// Returns the text with each `%XX` decoded; nil if an escape is broken or the bytes are not UTF-8.
private func decodePercentEncoding(_ text: UnsafeBufferPointer<UInt8>) -> String? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var rest = text.makeIterator()
    while let byte = rest.next() {
        guard byte == UInt8(ascii: "%") else {
            bytes.append(byte)
            continue
        }
        guard let high = rest.next().flatMap(hexDigit), let low = rest.next().flatMap(hexDigit) else { return nil }
        bytes.append(high << 4 | low)
    }
    return String(validating: bytes, as: UTF8.self)
}

/// Returns the value of a hexadecimal digit; nil if `byte` is none.
private func hexDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
}
