import Foundation

/// An e-mail address in the form that identifies an account.
package struct EmailAddress: Hashable, Sendable, CustomStringConvertible {
    /// Lower case, composed characters, no space around it.
    package let normalised: String

    /// nil when the text cannot be an address: at least one character, one `@`, at least one character; at most 254 bytes.
    package init?(_ text: String) {
        let text = Self.normalised(beginning: text)
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), text.utf8.count <= 254,
            text.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7F && !$0.properties.isWhitespace })
        else { return nil }
        normalised = text
    }

    /// Returns the beginning of an address in the form that addresses are stored in.
    static func normalised(beginning text: String) -> String {
        text.trimmingCharacters(in: .whitespacesAndNewlines).precomposedStringWithCanonicalMapping.lowercased()
    }

    /// The address in its normalised form.
    package var description: String { normalised }
}
