import CloudKitRecordLayer
import IdentityDirectory

/// A person who may sign in.
package struct Account: StoredRow, Hashable {
    /// 32 hexadecimal digits; leaves the cloud only inside sealed tokens.
    package var id: String
    /// Digits of the id by which operators know an account in logs and addresses of pages.
    static let shownDigits = 12
    /// The beginning of the id, by which operators know the account.
    package var shownID: String { String(id.prefix(Self.shownDigits)) }
    /// Normalised, see `EmailAddress`.
    package var email: String
    /// The person's name, as shares show it.
    package var name: String
    /// Milliseconds since 1970.
    package var created: Int64
    /// A disabled account keeps its data and cannot be used.
    package var isDisabled: Bool
    private(set) var password: PasswordVerifier
    private var keychains: Int?
    private var resetting: Bool?
    private var phones: [String]?
    /// Whether others may find the person by address, number or user name (B-ACC-05); nil: the person has not decided, and is
    /// not found.
    package var isDiscoverable: Bool?
    private var webKeys: Bool?
    private var quotaBytes: UInt64?
    private var isWithoutQuota: Bool?
    /// The name of the group that the operator has put the account into; nil: none.
    package internal(set) var group: String?
    private var proved: Bool?
    private var passwordless: Bool?
    private var containerQuotas: [String: String]?

    private enum CodingKeys: String, CodingKey {
        case id, email, name, created, isDisabled
        case password = "lock"
        case keychains, resetting, phones
        case isDiscoverable = "discoverable"
        case webKeys
        case quotaBytes = "quota"
        case isWithoutQuota = "unlimited"
        case group, proved, passwordless
        case containerQuotas = "quotas"
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

    /// Whether browsers may fetch the wrapped keys when they sign in; a person can forbid it.
    package internal(set) var allowsWebKeys: Bool {
        get { webKeys ?? true }
        set { webKeys = newValue ? nil : false }
    }

    /// Whether the person has opened a link that was mailed to the address, or the operator knows it to be theirs.
    package internal(set) var isEmailProved: Bool {
        get { proved ?? false }
        set { proved = newValue ? true : nil }
    }

    /// Whether the person signs in with a password. Where they do not, nothing is the password of the account.
    package var hasPassword: Bool { passwordless != true }

    /// Sets a password.
    mutating func setPassword(_ password: PasswordVerifier) {
        self.password = password
        passwordless = nil
    }

    /// Makes the account one without a password.
    ///
    /// - Parameter password: Random, so that nobody knows what would match it.
    mutating func removePassword(_ password: PasswordVerifier) {
        self.password = password
        passwordless = true
    }

    /// The phone numbers that the operator has verified, normalised.
    package internal(set) var phoneNumbers: [String] {
        get { phones ?? [] }
        set { phones = newValue.isEmpty ? nil : newValue }
    }

    /// The space for each private database of the account (B-LIM-16).
    package internal(set) var quota: AccountQuota {
        get { AccountQuota(bytes: quotaBytes, isUnlimited: isWithoutQuota == true) }
        set {
            isWithoutQuota = newValue == .unlimited ? true : nil
            if case .bytes(let bytes) = newValue { quotaBytes = bytes } else { quotaBytes = nil }
        }
    }

    /// Returns the space for the private database of one container, in place of `quota`; `cloud`: none was set.
    package func quota(in container: String) -> AccountQuota {
        containerQuotas?[container].flatMap { AccountQuota(text: $0) } ?? .cloud
    }

    /// Sets the space for the private database of one container.
    mutating func setQuota(_ quota: AccountQuota, in container: String) {
        var quotas = containerQuotas ?? [:]
        quotas[container] = quota == .cloud ? nil : quota.text
        containerQuotas = quotas.isEmpty ? nil : quotas
    }

    /// The first word of the name; nil if the name is empty.
    package var givenName: String? { name.split(separator: " ", maxSplits: 1).first.map(String.init) }
    /// The rest of the name; nil if there is none.
    package var familyName: String? {
        let parts = name.split(separator: " ", maxSplits: 1)
        return parts.count > 1 ? String(parts[1]) : nil
    }

    /// account → `Account`
    package static let table = RowTable<String, Account>("account")
    /// normalised address → account
    static let idsByEmail = RowTable<String, String>("email")
    /// normalised number → account
    static let idsByPhone = RowTable<String, String>("phone")
    /// container → space of each account in it, as `AccountQuota.text`
    static let quotasByContainer = RowTable<String, String>("container-quota")
    /// hash of a normalised address or number → account
    static let idsByAddressHash = RowTable<String, String>("address-hash")
}

extension StorageView {
    /// Returns the account with an address, or nil where there is none.
    func account(_ email: EmailAddress) async throws -> Account? {
        guard let id = try await Account.idsByEmail.row(email.normalised, in: self) else { return nil }
        return try await Account.table.row(id, in: self)
    }
}

extension StorageWriter {
    /// Adds a new account.
    ///
    /// - Throws: `AccountError.emailTaken`.
    mutating func add(_ account: Account) async throws {
        guard try await Account.idsByEmail.row(account.email, in: self) == nil else {
            throw AccountError.emailTaken(account.email)
        }
        try Account.table.set(account.id, to: account, in: &self)
        try Account.idsByEmail.set(account.email, to: account.id, in: &self)
        try setAccountAddress(account.email, of: account.id)
    }

    /// Makes an account found by an address or number.
    mutating func setAccountAddress(_ normalised: String, of account: String) throws {
        try Account.idsByAddressHash.set(AddressHash.of(normalised).hex, to: account, in: &self)
    }

    /// Makes an account no longer found by an address or number.
    mutating func clearAccountAddress(_ normalised: String) {
        Account.idsByAddressHash.clear(AddressHash.of(normalised).hex, in: &self)
    }
}
