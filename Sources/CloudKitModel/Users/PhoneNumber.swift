/// A phone number in the form that identifies an account: E.164, such as `+441632960083`.
package struct PhoneNumber: Hashable, Sendable, CustomStringConvertible {
    /// A plus sign and 7 to 15 digits, those of the country first.
    package let normalised: String

    private static let textBytesMax = 320

    /// Reads a number with its country code, after `+` or `00`; spaces, hyphens, dots, slashes, parentheses and a `(0)` are left out.
    ///
    /// - Returns: nil for any other text, such as a number without a country code.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.textBytesMax else { return nil }
        var digits: [Character] = []
        var isInternational = false
        for part in text.split(separator: "(0)", omittingEmptySubsequences: false) {
            for character in part {
                switch character {
                case "+" where !isInternational && digits.isEmpty: isInternational = true
                case "0"..."9": digits.append(character)
                case " ", "\u{A0}", "-", ".", "/", "(", ")": continue
                default: return nil
                }
            }
        }
        if !isInternational {
            guard digits.starts(with: ["0", "0"]) else { return nil }
            digits.removeFirst(2)
        }
        guard (7...15).contains(digits.count), digits.first != "0" else { return nil }
        normalised = "+" + String(digits)
    }

    /// The number in its normalised form.
    package var description: String { normalised }
}
