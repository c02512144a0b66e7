/// Somebody who may sign in.
package struct Account: BookRow, Codable, Hashable, Sendable {
    /// 32 hexadecimal digits; leaves the cloud only inside sealed tokens.
    package var id: String
    /// Normalised, see `EmailAddress`.
    package var email: String
    package var name: String
    /// Milliseconds since 1970.
    package var created: Int64
    /// A disabled account keeps its data and cannot be used.
    package var isDisabled: Bool
    var lock: PasswordLock
    private var keychains: Int?
    private var resetting: Bool?

    init(id: String, email: String, name: String, created: Int64, lock: PasswordLock) {
        self.id = id
        self.email = email
        self.name = name
        self.created = created
        self.isDisabled = false
        self.lock = lock
    }

    /// Counts the keychains this account has had; 0 before the first. A device's session is of use for encrypted data while
    /// it was opened in the present generation.
    package var keychainGeneration: Int {
        get { keychains ?? 0 }
        set { keychains = newValue }
    }

    /// Whether zones still have to be marked after the keychain was reset; until then nobody uses them.
    package var isResettingKeys: Bool {
        get { resetting ?? false }
        set { resetting = newValue ? true : nil }
    }
}

/// Why an account could not be made or found: for the operator, not for callers of the cloud.
package enum AccountError: Error, Hashable, Sendable, CustomStringConvertible {
    case emailInvalid(String)
    case emailTaken(String)
    case notFound(String)

    package var description: String {
        switch self {
        case .emailInvalid(let email): "\"\(email)\" is not an e-mail address."
        case .emailTaken(let email): "There is an account for \(email) already. Choose another address, or remove it."
        case .notFound(let email): "There is no account for \(email). See: welkin account list"
        }
    }
}
