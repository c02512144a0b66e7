/// The reason why an account could not be made or found: for the operator, not for callers of the cloud.
package enum AccountError: Error, Hashable, Sendable, CustomStringConvertible {
    case emailInvalid(String)
    case emailTaken(String)
    case notFound(String)

    /// The sentence for the operator who gave the command.
    package var description: String {
        switch self {
        case .emailInvalid(let email): "\"\(email)\" is not an e-mail address."
        case .emailTaken(let email): "There is an account for \(email) already. Choose another address, or remove it."
        case .notFound(let email): "There is no account for \(email). See: welkin account list"
        }
    }
}
