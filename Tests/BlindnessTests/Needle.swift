import Foundation

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

    init(_ name: String, whole number: Int64) {
        self.init(name, text: String(number))
        forms += Self.words(UInt64(bitPattern: number))
    }

    init(_ name: String, fraction number: Double) {
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
}

/// Many needles, looked for in one pass.
struct NeedleSearch {
    private let needles: [Needle]
    /// By the first two bytes: the needles and forms that begin so.
    private var beginnings: [UInt16: [(needle: Int, form: [UInt8])]] = [:]
    private var mayBegin = [Bool](repeating: false, count: 65_536)

    init(_ needles: [Needle]) {
        self.needles = needles
        for (index, needle) in needles.enumerated() {
            // Shorter ones occur by chance.
            for form in needle.forms where form.count >= 6 {
                let beginning = UInt16(form[0]) << 8 | UInt16(form[1])
                beginnings[beginning, default: []].append((index, form))
                mayBegin[Int(beginning)] = true
            }
        }
    }

    /// The names of the needles that lie in the hay, in any form.
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
