/// Texts from outside as the log keeps them: short, printable, on one line.
package enum LogWord {
    /// The characters that a text keeps.
    package static let charactersMax = 255

    /// Returns a text without characters that control, hide or move others, and without what exceeds the bound.
    package static func cleaned(_ text: String) -> String {
        // Nearly all names are short ASCII, and this runs for every request.
        if text.utf8.count <= charactersMax, text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text }
        return String(
            String.UnicodeScalarView(
                text.unicodeScalars.prefix(charactersMax).map { isPrintable($0) ? $0 : "?" }))
    }

    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
        default: true
        }
    }
}
