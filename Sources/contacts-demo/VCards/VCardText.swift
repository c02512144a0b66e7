import CloudKit

/// The escapes and separators of vCard values (RFC 6350 §3.4, RFC 6868).
///
/// All functions work on scalars, since a separator and a following combining mark form one character.
enum VCardText {
    /// Returns whether a text is a name of a property, group or parameter: one or more letters, digits and hyphens.
    static func isToken(_ text: Substring) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    /// Splits a value at unescaped separators; the parts keep their escapes.
    static func parts(of value: String, at separator: Unicode.Scalar) -> [String] {
        var parts: [String] = []
        var part = String.UnicodeScalarView()
        var escaping = false
        for scalar in value.unicodeScalars {
            if scalar == separator && !escaping {
                parts.append(String(part))
                part = String.UnicodeScalarView()
            } else {
                part.append(scalar)
            }
            escaping = scalar == "\\" && !escaping
        }
        parts.append(String(part))
        return parts
    }

    /// Unescapes `\n`, `\,`, `\;` and `\\`; other backslashes stay.
    static func unescaped(_ value: String) -> String {
        replacingEscapes(in: value, marked: "\\") { scalar in
            switch scalar {
            case "n", "N": "\n"
            case "\\", ",", ";": scalar
            default: nil
            }
        }
    }

    /// Returns the values of one parameter: split at commas outside quotes, with the escapes of RFC 6868 removed.
    static func parameterValues(of text: Substring) -> [String] {
        var values: [String] = []
        var value = String.UnicodeScalarView()
        var quoted = false
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted.toggle()
            case "," where !quoted:
                values.append(String(value))
                value = String.UnicodeScalarView()
            default: value.append(scalar)
            }
        }
        values.append(String(value))
        return values.map(withoutCircumflexes)
    }

    private static func withoutCircumflexes(_ value: String) -> String {
        replacingEscapes(in: value, marked: "^") { scalar in
            switch scalar {
            case "n": "\n"
            case "^": "^"
            case "'": "\""
            default: nil
            }
        }
    }

    /// Replaces each mark and the scalar after it; both stay if there is no replacement.
    private static func replacingEscapes(
        in value: String, marked mark: Unicode.Scalar, by replacement: (Unicode.Scalar) -> Unicode.Scalar?
    ) -> String {
        guard value.unicodeScalars.contains(mark) else { return value }
        var text = String.UnicodeScalarView()
        var scalars = value.unicodeScalars.makeIterator()
        while let scalar = scalars.next() {
            guard scalar == mark, let escaped = scalars.next() else {
                text.append(scalar)
                continue
            }
            if let replaced = replacement(escaped) {
                text.append(replaced)
            } else {
                text.append(mark)
                text.append(escaped)
            }
        }
        return String(text)
    }
}
