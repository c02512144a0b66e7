import CloudKitRecordLayer
import Crypto
import WebCredentials

/// A person at a provider who signs in to an account. The provider's name of the person counts, and never the e-mail address.
package struct ProviderIdentity: StoredRow, Hashable {
    /// The provider.
    package var issuer: String
    /// The provider's name of the person.
    package var subject: String
    /// The account.
    package var account: String
    /// Milliseconds since 1970.
    package var created: Int64

    /// account, hash → `ProviderIdentity`
    static let table = RowTable<OwnedRowKey, ProviderIdentity>("provider-identity")
    /// hash of provider and person → account
    static let owners = RowTable<String, String>("provider-owner")

    /// Returns the hash by which a person of a provider is stored. The length of the first text keeps two pairs apart.
    static func hash(issuer: String, subject: String) -> String {
        SHA256.hash(data: Array("\(issuer.utf8.count):\(issuer)\(subject)".utf8)).hex
    }

    /// The name of the identity among those of its account: the first digits of its hash.
    package var id: String { String(rowKey.name.prefix(16)) }

    var rowKey: OwnedRowKey {
        OwnedRowKey(owner: account, name: Self.hash(issuer: issuer, subject: subject))
    }
}

extension StorageView {
    /// Returns the account of a person at a provider, or nil where there is none.
    func account(_ ticket: ProviderTicket) async throws -> Account? {
        let hash = ProviderIdentity.hash(issuer: ticket.issuer, subject: ticket.subject)
        guard let id = try await ProviderIdentity.owners.row(hash, in: self) else { return nil }
        return try await Account.table.row(id, in: self)
    }

    /// Returns the providers' people who sign in to an account, oldest first.
    func providerIdentities(of account: String) async throws -> [ProviderIdentity] {
        try await ProviderIdentity.table.rows(of: account, in: self).map(\.row).sorted { $0.created < $1.created }
    }
}

extension StorageWriter {
    /// Lets a person at a provider sign in to an account.
    mutating func set(_ identity: ProviderIdentity) throws {
        try ProviderIdentity.table.set(identity.rowKey, to: identity, in: &self)
        try ProviderIdentity.owners.set(identity.rowKey.name, to: identity.account, in: &self)
    }

    /// Ends that a person at a provider signs in to an account.
    mutating func clear(_ identity: ProviderIdentity) {
        ProviderIdentity.table.clear(identity.rowKey, in: &self)
        ProviderIdentity.owners.clear(identity.rowKey.name, in: &self)
    }
}

/// The cloud's note that a provider has vouched for a person just now; the browser keeps it, sealed, until it signs in.
package struct ProviderTicket: Codable, Hashable, Sendable {
    /// The provider.
    package var issuer: String
    /// The provider's name of the person.
    package var subject: String
    /// The address that the provider has of the person, normalised; nil: none, or one that cannot be an account's.
    package var email: String?
    /// Whether the provider has verified the address.
    package var isEmailVerified: Bool
    /// The name of the person.
    package var name: String?
    /// Milliseconds since 1970.
    var expires: Int64
    /// Differs between tickets.
    var id: String
}
