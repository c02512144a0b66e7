/// Base64 with the standard alphabet and padding (RFC 4648, section 4).
package enum Base64 {
    /// Appends the encoding of `bytes`.
    package static func encode(_ bytes: UnsafeBufferPointer<UInt8>, to output: inout [UInt8]) {
        let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        let symbols = alphabet.utf8Start
        let size = (bytes.count + 2) / 3 * 4
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: size) { target in
            var written = 0
            var index = 0
            while index + 3 <= bytes.count {
                let group = UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2])
                target[written] = symbols[Int(group >> 18)]
                target[written + 1] = symbols[Int(group >> 12 & 63)]
                target[written + 2] = symbols[Int(group >> 6 & 63)]
                target[written + 3] = symbols[Int(group & 63)]
                index += 3
                written += 4
            }
            let left = bytes.count - index
            if left > 0 {
                let group = UInt32(bytes[index]) << 16 | (left == 2 ? UInt32(bytes[index + 1]) << 8 : 0)
                target[written] = symbols[Int(group >> 18)]
                target[written + 1] = symbols[Int(group >> 12 & 63)]
                target[written + 2] = left == 2 ? symbols[Int(group >> 6 & 63)] : UInt8(ascii: "=")
                target[written + 3] = UInt8(ascii: "=")
            }
            output.append(contentsOf: UnsafeBufferPointer(target))
        }
    }

    /// The encoding of `bytes`.
    package static func encode(_ bytes: [UInt8]) -> String {
        var output: [UInt8] = []
        bytes.withUnsafeBufferPointer { encode($0, to: &output) }
        return String(decoding: output, as: UTF8.self)
    }

    /// The bytes that `text` stands for; nil if it is not base64 with its padding.
    package static func decode(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard let symbolCount = symbolCount(text) else { return nil }
        let size = symbolCount / 4 * 3 + [0, 0, 1, 2][symbolCount % 4]
        var isValid = true
        let result = values.withUnsafeBufferPointer { values in
            [UInt8](unsafeUninitializedCapacity: size) { target, written in
                var index = 0
                var seen: UInt8 = 0
                while index + 4 <= symbolCount {
                    let (a, b, c, d) = (
                        values[Int(text[index])], values[Int(text[index + 1])], values[Int(text[index + 2])],
                        values[Int(text[index + 3])]
                    )
                    seen |= a | b | c | d
                    target[written] = a << 2 | b >> 4
                    target[written + 1] = b << 4 | c >> 2
                    target[written + 2] = c << 6 | d
                    index += 4
                    written += 3
                }
                if symbolCount - index >= 2 {
                    let (a, b) = (values[Int(text[index])], values[Int(text[index + 1])])
                    seen |= a | b
                    target[written] = a << 2 | b >> 4
                    written += 1
                    if symbolCount - index == 3 {
                        let c = values[Int(text[index + 2])]
                        seen |= c
                        target[written] = b << 4 | c >> 2
                        written += 1
                    }
                }
                isValid = seen & 0x80 == 0
            }
        }
        return isValid ? result : nil
    }

    /// The bytes that `text` stands for; nil if it is not base64 with its padding.
    package static func decode(_ text: String) -> [UInt8]? {
        var text = text
        return text.withUTF8 { decode($0) }
    }

    /// What looking at base64 without decoding it tells.
    package enum Form: Hashable, Sendable {
        case invalid
        /// Decodes, but bits that stand for nothing are set: the same bytes have another encoding.
        case valid
        /// The one encoding of its bytes.
        case canonical
    }

    /// Checks base64 without decoding it.
    package static func form(of text: UnsafeBufferPointer<UInt8>) -> Form {
        guard let symbolCount = symbolCount(text) else { return .invalid }
        return values.withUnsafeBufferPointer { values in
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

    /// How many symbols there are before the padding; nil if the length cannot be right.
    private static func symbolCount(_ text: UnsafeBufferPointer<UInt8>) -> Int? {
        guard text.count % 4 == 0 else { return nil }
        guard let last = text.last else { return 0 }
        guard last == UInt8(ascii: "=") else { return text.count }
        return text[text.count - 2] == UInt8(ascii: "=") ? text.count - 2 : text.count - 1
    }

    /// The value of each symbol; 0x80 for what is none.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 0x80, count: 256)
        for (value, symbol) in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8.enumerated() {
            values[Int(symbol)] = UInt8(value)
        }
        return values
    }()
}
