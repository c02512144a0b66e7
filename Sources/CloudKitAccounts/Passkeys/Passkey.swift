import CloudKitRecordLayer
import Crypto
import WebCredentials

/// A passkey of an account: a public key by which an authenticator of the person signs in, and the account's secret wrapped by what only this
/// authenticator computes.
package struct Passkey: StoredRow, Hashable {
    /// The authenticator's identifier of the key.
    package var id: [UInt8]
    /// The account.
    package var account: String
    /// The name that the person sees in a list.
    package var name: String
    /// The host to which the passkey is bound.
    package var party: String
    var publicKey: [UInt8]
    var counter: UInt32
    /// Whether a service copies it to other devices of the person.
    package var isBackedUp: Bool
    /// Milliseconds since 1970.
    package var created: Int64
    /// The last sign-in, in milliseconds since 1970; nil: none.
    package var used: Int64?
    /// The account secret, wrapped by a key from the authenticator; nil: the passkey opens no keys.
    var wrap: [UInt8]?
    /// The generation of the keychain whose secret is wrapped.
    var generation: Int?

    static let nameCharactersMax = 100
    /// Passkeys of an account.
    static let countMax = 20

    /// Returns whether the passkey opens the present keys of its account.
    package func opensKeys(of account: Account) -> Bool { wrap != nil && generation == account.keychainGeneration }

    /// The key as it is verified.
    var key: PasskeyKey {
        get { PasskeyKey(id: id, publicKey: publicKey, counter: counter, isBackedUp: isBackedUp) }
        set {
            counter = newValue.counter
            isBackedUp = newValue.isBackedUp
        }
    }

    /// account, hash of the identifier → `Passkey`
    static let table = RowTable<OwnedRowKey, Passkey>("passkey")
    /// hash of the identifier → account
    static let owners = RowTable<String, String>("passkey-owner")

    /// Returns the hash by which a passkey is stored.
    static func hash(of id: [UInt8]) -> String { SHA256.hash(data: id).hex }

    var rowKey: OwnedRowKey { OwnedRowKey(owner: account, name: Self.hash(of: id)) }
}

extension StorageView {
    /// Returns the passkeys of an account, oldest first.
    func passkeys(of account: String) async throws -> [Passkey] {
        try await Passkey.table.rows(of: account, in: self).map(\.row).sorted { $0.created < $1.created }
    }

    /// Returns the passkey with an identifier, or nil where there is none.
    func passkey(_ id: [UInt8]) async throws -> Passkey? {
        let hash = Passkey.hash(of: id)
        guard let owner = try await Passkey.owners.row(hash, in: self) else { return nil }
        return try await Passkey.table.row(OwnedRowKey(owner: owner, name: hash), in: self)
    }
}

extension StorageWriter {
    /// Removes a passkey.
    mutating func clear(_ passkey: Passkey) {
        Passkey.table.clear(passkey.rowKey, in: &self)
        Passkey.owners.clear(passkey.rowKey.name, in: &self)
    }
}
