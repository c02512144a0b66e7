import CloudKitModel
import CloudKitRecordLayer

/// The names by which containers know accounts (B-USR-01).
package struct UserNames: Sendable {
    let store: AccountStore

    /// account, container → user name
    static let names = RowTable<OwnedRowKey, String>("user")
    /// user name → account
    static let accounts = RowTable<String, String>("user-account")

    /// Returns the name of an account in a container; made at random by the first call, and the same ever after.
    package func name(of account: String, in container: ContainerID) async throws -> UserID {
        if let known = try await knownName(of: account, in: container) { return known }
        let made = store.newUserName()
        return try await store.write { transaction in
            let key = OwnedRowKey(owner: account, name: container.name)
            // Another device of the same account may have come first.
            if let known = try await Self.names.row(key, in: transaction) { return UserID(known) }
            try Self.names.set(key, to: made.recordName, in: &transaction)
            try Self.accounts.set(made.recordName, to: account, in: &transaction)
            try transaction.noteDirectoryChange(.label(.user(made.recordName, container: container.name)))
            return made
        }
    }

    /// Returns the containers that know an account, with the names they know it by.
    package func all(of account: String) async throws -> [(container: ContainerID, user: UserID)] {
        try await Self.names.rows(of: account, in: store).map { (ContainerID($0.name), UserID($0.row)) }
    }

    /// Returns the name of an account in a container that it has been to; nil otherwise.
    package func knownName(of account: String, in container: ContainerID) async throws -> UserID? {
        try await Self.names.row(OwnedRowKey(owner: account, name: container.name), in: store).map { UserID($0) }
    }

    /// Returns the account that a container knows by a name, or nil where there is none.
    package func owner(of user: UserID, in container: ContainerID) async throws -> String? {
        guard let account = try await Self.accounts.row(user.recordName, in: store) else { return nil }
        return try await knownName(of: account, in: container) == user ? account : nil
    }
}

extension AccountStore {
    /// The names by which containers know accounts.
    package var userNames: UserNames { UserNames(store: self) }

    /// Returns a random name for a user.
    func newUserName() -> UserID { UserID("_" + serverEnvironment.randomHex(bytes: 16)) }
}
