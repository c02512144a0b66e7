/// One attempt of a device to have a request served that changes a database.
///
/// Every attempt has the identifier of the request, so that a cloud which has served it once does not serve it again (B-THR-07).
package struct RequestAttempt: Hashable, Sendable {
    /// 16 random bytes.
    package let id: [UInt8]
    /// 1 for the first attempt.
    package var number: UInt16

    /// The number of bytes of an identifier.
    private static let idBytes = 16

    /// Creates the first attempt of a request, with a random identifier.
    package init(using generator: inout some RandomNumberGenerator) {
        id = (0..<Self.idBytes).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        number = 1
    }

    /// Reads the form of headers; nil for another text.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ";", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.count == 2 * Self.idBytes, let number = UInt16(parts[1]), number > 0
        else {
            return nil
        }
        var id: [UInt8] = []
        var rest = Substring(parts[0])
        while !rest.isEmpty {
            let digits = rest.prefix(2)
            guard digits.allSatisfy(\.isHexDigit), let byte = UInt8(digits, radix: 16) else { return nil }
            id.append(byte)
            rest = rest.dropFirst(2)
        }
        self.id = id
        self.number = number
    }

    /// The form of headers: the identifier in hexadecimal digits, a semicolon, the number.
    package var text: String {
        let digits = id.flatMap { byte in
            [byte >> 4, byte & 0xF].map { Self.digits[Int($0)] }
        }
        return String(decoding: digits, as: UTF8.self) + ";\(number)"
    }

    private static let digits = Array("0123456789abcdef".utf8)
}
