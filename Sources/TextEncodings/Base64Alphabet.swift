/// The 64 symbols of a form of base64, and the values of the bytes that are read as symbols.
struct Base64Alphabet {
    private let symbols: StaticString
    /// The value of each byte; 0x80 for bytes that are no symbols.
    let values: [UInt8]

    /// - Parameter aliases: Bytes that are read as the symbols 62 and 63, too.
    private init(_ symbols: StaticString, aliases: StaticString = "") {
        self.symbols = symbols
        var values = [UInt8](repeating: 0x80, count: 256)
        for value in 0..<64 { values[Int(symbols.utf8Start[value])] = UInt8(value) }
        for index in 0..<aliases.utf8CodeUnitCount { values[Int(aliases.utf8Start[index])] = UInt8(62 + index) }
        self.values = values
    }

    static let standard = Base64Alphabet("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    static let url = Base64Alphabet("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    static let urlOrStandard = Base64Alphabet(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", aliases: "+/")

    /// Appends the encoding of `bytes` to `output`.
    func encode(_ bytes: UnsafeBufferPointer<UInt8>, isPadded: Bool, to output: inout [UInt8]) {
        let symbols = symbols.utf8Start
        let size = isPadded ? (bytes.count + 2) / 3 * 4 : (bytes.count * 4 + 2) / 3
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
                written += 2
                if left == 2 {
                    target[written] = symbols[Int(group >> 6 & 63)]
                    written += 1
                }
            }
            while written < size {
                target[written] = UInt8(ascii: "=")
                written += 1
            }
            output.append(contentsOf: UnsafeBufferPointer(target))
        }
    }

    /// Returns the encoding of `bytes`.
    func encode(_ bytes: [UInt8], isPadded: Bool) -> String {
        var output: [UInt8] = []
        bytes.withUnsafeBufferPointer { encode($0, isPadded: isPadded, to: &output) }
        return String(decoding: output, as: UTF8.self)
    }

    /// Returns the bytes that `text`, which has no padding, encodes; nil if it has a byte that is no symbol.
    ///
    /// A symbol that is left over, one after groups of four, adds no byte.
    func decode(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        let size = text.count / 4 * 3 + max(text.count % 4 - 1, 0)
        var isValid = true
        let result = values.withUnsafeBufferPointer { values in
            [UInt8](unsafeUninitializedCapacity: size) { target, written in
                var index = 0
                var seen: UInt8 = 0
                while index + 4 <= text.count {
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
                for symbol in text[index...] { seen |= values[Int(symbol)] }
                if text.count - index >= 2 {
                    target[written] = values[Int(text[index])] << 2 | values[Int(text[index + 1])] >> 4
                    written += 1
                }
                if text.count - index == 3 {
                    target[written] = values[Int(text[index + 1])] << 4 | values[Int(text[index + 2])] >> 2
                    written += 1
                }
                isValid = seen & 0x80 == 0
            }
        }
        return isValid ? result : nil
    }
}
