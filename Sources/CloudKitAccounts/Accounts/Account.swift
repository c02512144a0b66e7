import CloudKitRecordLayer

/// A person who may sign in.
package struct Account: StoredRow, Hashable {
    /// 32 hexadecimal digits; leaves the cloud only inside sealed tokens.
    package var id: String
    /// Normalised, see `EmailAddress`.
    package var email: String
    /// The person's name, as shares show it.
    package var name: String
    /// Milliseconds since 1970.
    package var created: Int64
    /// A disabled account keeps its data and cannot be used.
    package var isDisabled: Bool
    var password: PasswordVerifier
    private var keychains: Int?
    private var resetting: Bool?

    private enum CodingKeys: String, CodingKey {
        case id, email, name, created, isDisabled
        case password = "lock"
        case keychains, resetting
    }

    init(id: String, email: String, name: String, created: Int64, password: PasswordVerifier) {
        self.id = id
        self.email = email
        self.name = name
        self.created = created
        self.isDisabled = false
        self.password = password
    }

    /// The number of keychains this account has had; 0 before the first. A device's session serves encrypted data while
    /// it was opened in the present generation.
    package var keychainGeneration: Int {
        get { keychains ?? 0 }
        set { keychains = newValue }
    }

    /// Whether zones still have to be marked after the keychain was reset; until then they cannot be used.
    package var isResettingKeys: Bool {
        get { resetting ?? false }
        set { resetting = newValue ? true : nil }
    }

    /// account → `Account`
    package static let table = RowTable<String, Account>("account")
    /// normalised address → account
    static let idsByEmail = RowTable<String, String>("email")
}

extension StorageView {
    /// Returns the account with an address, or nil where there is none.
    func account(_ email: EmailAddress) async throws -> Account? {
        guard let id = try await Account.idsByEmail.row(email.normalised, in: self) else { return nil }
        return try await Account.table.row(id, in: self)
    }
}
