/// The name of a file: bytes that its maker draws at random, never anything that a user chose.
package struct FileID: Hashable, Sendable, CustomStringConvertible {
    /// Lower-case hexadecimal digits, two a byte.
    package let name: String

    /// Bytes of an id.
    package static let bytesRange = 8...32

    /// nil unless there are 8 to 32 bytes.
    package init?(bytes: [UInt8]) {
        guard Self.bytesRange.contains(bytes.count) else { return nil }
        let digits = Array("0123456789abcdef".utf8)
        let text = bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        name = String(decoding: text, as: UTF8.self)
    }

    /// nil for anything but the name of an id: so no name can lead out of a store's folder.
    package init?(name: String) {
        let digits = name.utf8
        guard digits.count % 2 == 0, Self.bytesRange.contains(digits.count / 2),
            digits.allSatisfy({ Self.value($0) != nil })
        else { return nil }
        self.name = name
    }

    /// The bytes of the name.
    package var bytes: [UInt8] {
        let values = name.utf8.compactMap(Self.value)
        return stride(from: 0, to: values.count - 1, by: 2).map { values[$0] << 4 | values[$0 + 1] }
    }

    /// The number of the file's folder, one of 256: its last byte.
    package var folder: UInt8 { bytes.last ?? 0 }

    /// A textual form of the value, for logs and debugging.
    package var description: String { name }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
