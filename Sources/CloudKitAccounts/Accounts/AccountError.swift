/// The reason why an account could not be made or found: for the operator, not for callers of the cloud.
package enum AccountError: Error, Hashable, Sendable, CustomStringConvertible {
    case emailInvalid(String)
    case emailTaken(String)
    case notFound(String)
    case phoneNumberInvalid(String)
    case phoneNumberTaken(String)
    case phoneNumberUnknown(String)
    case tooManyPhoneNumbers(String)
    case invitationBounds
    case groupEmpty(String)

    /// The sentence for the operator who gave the command.
    package var description: String {
        switch self {
        case .emailInvalid(let email): "\"\(email)\" is not an e-mail address."
        case .emailTaken(let email): "There is an account for \(email) already. Choose another address, or remove it."
        case .notFound(let email): "There is no account for \(email). See: welkin account list"
        case .phoneNumberInvalid(let text):
            "\"\(text)\" is not a phone number with its country code, such as +44 1632 960083."
        case .phoneNumberTaken(let number): "Another account has the number \(number). Remove it there first."
        case .phoneNumberUnknown(let number): "The account does not have the number \(number)."
        case .tooManyPhoneNumbers(let email):
            "The account \(email) has \(Accounts.phoneNumbersMax) phone numbers. Remove one first."
        case .groupEmpty(let name): "No account is in the group \"\(name)\". See: welkin account list"
        case .invitationBounds:
            "An invitation makes 1 to \(AccountInvitations.usesMax) accounts, 1 if it names an address, and is valid for 1 to "
                + "\(AccountInvitations.daysMax) days."
        }
    }
}
