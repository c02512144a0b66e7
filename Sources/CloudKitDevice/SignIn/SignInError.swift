/// The reason why a sign-in, or another change to an account, did not work.
package enum SignInError: Error, Hashable, Sendable, CustomStringConvertible {
    case refused(Refusal)
    case answerMalformed
    case apiTokenMissing(String)
    case otherCloud(String)
    case emailMalformed(String)
    case notSignedIn
    /// The call needs the account's keys, and this device does not have them.
    case keysMissing
    /// The keychain opens, but to other keys than the account's public identity says.
    case keychainForged
    /// The cloud asks for a proof from which the password could be guessed.
    case passwordTooCheap(rounds: Int)
    /// Files of an account that is not signed in any more could not be removed.
    case filesRemain(String, FileFailure)

    /// A textual form of the value, for logs and debugging.
    package var description: String {
        switch self {
        case .refused(let refusal):
            refusal.retryAfter.map { "\(refusal.reason). Try again in \(Int($0.rounded(.up))) seconds." }
                ?? refusal.reason + (refusal.remedy.map { ". \($0)" } ?? "")
        case .answerMalformed:
            "The endpoint did not answer as a Welkin cloud does. Check CLOUDKIT_ENDPOINT."
        case .apiTokenMissing(let container):
            "No API token is configured for \(container). Make one with: welkin token create \(container), "
                + "and set CLOUDKIT_API_TOKEN."
        case .otherCloud(let endpoint):
            "This profile is signed in at \(endpoint). Use another CLOUDKIT_PROFILE, or sign out first: welkin logout"
        case .emailMalformed(let email): "\"\(email)\" is not an e-mail address."
        case .notSignedIn: "This device is not signed in. Sign in with: welkin login"
        case .keysMissing: "This device does not have the account's keys. \(AccountIssue.keysLocked.explanation)"
        case .keychainForged:
            "The cloud's keychain does not fit the account's public identity: someone changed it. Do not use this cloud."
        case .filesRemain(let folder, let failure):
            "Files of the account that was signed in remain in \(folder): \(failure). Remove the folder by hand."
        case .passwordTooCheap(let rounds):
            "The cloud asks for a proof of only \(rounds) rounds, from which your password could be guessed. "
                + "Do not use it, or change the account's password at its operator."
        }
    }
}
