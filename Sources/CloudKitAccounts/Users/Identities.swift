import CloudKitModel

/// The public halves of users' keys, by the names under which a container knows the users: the keys that sharing with a user
/// requires.
package struct Identities: Sendable {
    let store: AccountStore

    /// A user's public identity.
    package struct Entry: Hashable, Sendable {
        /// The user within the container.
        package var user: UserID
        /// The public half of the user's keys.
        package var identity: [UInt8]
        /// Changes when the keys do.
        package var generation: Int
    }

    /// Users of one lookup.
    package static let usersMax = 100

    /// Returns the identities of the users that have one, in the order asked; unknown users and users without a keychain are left out.
    ///
    /// - Parameter users: At most `usersMax`.
    /// - Throws: `RequestFailure` `itemLimitExceeded`.
    package func lookup(_ users: [UserID], in container: ContainerID) async throws -> [Entry] {
        guard users.count <= Self.usersMax else {
            throw RequestFailure(
                .itemLimitExceeded, "too many users: at most \(Self.usersMax)", remedy: "Send the halves.")
        }
        var entries: [Entry] = []
        for user in users {
            guard let account = try await store.userNames.owner(of: user, in: container),
                let keychain = try await Keychain.table.row(account, in: store)
            else { continue }
            entries.append(Entry(user: user, identity: keychain.identity, generation: keychain.generation))
        }
        return entries
    }
}

extension AccountStore {
    /// The public halves of users' keys.
    package var identities: Identities { Identities(store: self) }
}
