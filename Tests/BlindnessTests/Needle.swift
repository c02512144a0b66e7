import Foundation
import Glibc

/// Something that must be found nowhere, in every form in which it could lie about.
struct Needle {
    /// What it is, for the report; never the value.
    var name: String
    var forms: [[UInt8]]

    init(_ name: String, text: String) {
        self.name = name
        let bytes = Array(text.utf8)
        forms =
            [bytes, Array(text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] })]
            + Self.encodings(of: bytes)
    }

    init(_ name: String, bytes: [UInt8]) {
        self.name = name
        forms = [bytes] + Self.encodings(of: bytes)
    }

    init(_ name: String, number: Int64) {
        self.init(name, text: String(number))
        forms += Self.words(UInt64(bitPattern: number))
    }

    init(_ name: String, number: Double) {
        self.init(name, text: "\(number)")
        forms += Self.words(number.bitPattern)
    }

    /// Base 64 at each of its three alignments, of both alphabets, and hexadecimal.
    private static func encodings(of bytes: [UInt8]) -> [[UInt8]] {
        var forms: [[UInt8]] = []
        for shift in 0..<3 {
            let padded = [UInt8](repeating: 0, count: shift) + bytes
            let text = Data(padded).base64EncodedString().replacingOccurrences(of: "=", with: "")
            // The symbols at both ends hold bits of the neighbours too.
            let inner = Array(text.utf8.dropFirst(shift == 0 ? 0 : shift + 1).dropLast(2))
            forms.append(inner)
            forms.append(
                inner.map {
                    switch $0 {
                    case UInt8(ascii: "+"): UInt8(ascii: "-")
                    case UInt8(ascii: "/"): UInt8(ascii: "_")
                    default: $0
                    }
                })
        }
        let hex = bytes.map { String(format: "%02x", $0) }.joined()
        return forms + [Array(hex.utf8), Array(hex.uppercased().utf8)]
    }

    private static func words(_ word: UInt64) -> [[UInt8]] {
        let big = (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) }
        return [big, big.reversed()]
    }

    /// Whether any form lies in the hay.
    func isIn(_ hay: [UInt8]) -> Bool {
        hay.withUnsafeBytes { hay in
            forms.contains { form in
                form.count >= 6 && memmem(hay.baseAddress, hay.count, form, form.count) != nil
            }
        }
    }
}
