import Foundation

/// An account's e-mail address in the form in which accounts are distinguished; keys are bound to it.
///
/// The cloud normalises in the same way: no space around it, composed characters (NFC), lower case.
package struct AccountAddress: Hashable, Sendable {
    /// The address in lower case.
    package let text: String

    /// - Throws: `SignInError.emailMalformed` for what cannot be an address.
    package init(_ email: String) throws(SignInError) {
        text = email.trimmingCharacters(in: .whitespacesAndNewlines).precomposedStringWithCanonicalMapping
            .lowercased()
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }) else { throw .emailMalformed(email) }
    }
}
