import Foundation

/// A secret to search for, in all forms in which it could be stored or sent.
struct Needle {
    /// The name of the secret for the report; never its value.
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

    init(_ name: String, whole number: Int64) {
        self.init(name, text: String(number))
        forms += Self.words(UInt64(bitPattern: number))
    }

    init(_ name: String, fraction number: Double) {
        self.init(name, text: "\(number)")
        forms += Self.words(number.bitPattern)
    }

    /// Returns base64 at each of its three alignments in both alphabets, and hexadecimal.
    private static func encodings(of bytes: [UInt8]) -> [[UInt8]] {
        var forms: [[UInt8]] = []
        for shift in 0..<3 {
            let padded = [UInt8](repeating: 0, count: shift) + bytes
            let text = Data(padded).base64EncodedString().replacingOccurrences(of: "=", with: "")
            // The symbols at both ends also contain bits of adjacent bytes.
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
}

/// A search for many needles in one pass.
struct NeedleSearch {
    private let needles: [Needle]
    /// The needles and their forms by their first two bytes.
    private var beginnings: [UInt16: [(needle: Int, form: [UInt8])]] = [:]
    private var mayBegin = [Bool](repeating: false, count: 65_536)

    init(_ needles: [Needle]) {
        self.needles = needles
        for (index, needle) in needles.enumerated() {
            // Shorter forms occur by chance.
            for form in needle.forms where form.count >= 6 {
                let beginning = UInt16(form[0]) << 8 | UInt16(form[1])
                beginnings[beginning, default: []].append((index, form))
                mayBegin[Int(beginning)] = true
            }
        }
    }

    /// Returns the names of the needles that occur in the bytes in any form.
    func found(in hay: [UInt8]) -> Set<String> {
        var found: Set<String> = []
        hay.withUnsafeBufferPointer { hay in
            mayBegin.withUnsafeBufferPointer { mayBegin in
                guard hay.count > 1 else { return }
                var window = UInt16(hay[0])
                for place in 1..<hay.count {
                    window = window << 8 | UInt16(hay[place])
                    guard mayBegin[Int(window)] else { continue }
                    for (needle, form) in beginnings[window] ?? []
                    where place - 1 + form.count <= hay.count
                        && form.indices.allSatisfy({ hay[place - 1 + $0] == form[$0] })
                    {
                        found.insert(needles[needle].name)
                    }
                }
            }
        }
        return found
    }
}
