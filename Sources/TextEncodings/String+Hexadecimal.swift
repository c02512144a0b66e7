extension String {
    /// Creates a text of two lower-case hexadecimal digits for each byte.
    ///
    /// - Parameter bytes: The bytes.
    package init(hexadecimal bytes: [UInt8]) {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(2 * bytes.count)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        self.init(decoding: text, as: UTF8.self)
    }
}
