import CloudKitModel
import CloudKitRecordLayer

/// The public halves of people's keys, by the names under which a container knows them: what one needs to share with
/// somebody.
package struct Identities: Sendable {
    private let book: Book
    private let names: UserNames

    package init(book: Book, surroundings: Surroundings) {
        self.book = book
        names = UserNames(book: book, surroundings: surroundings)
    }

    /// Somebody's public identity.
    package struct Entry: Hashable, Sendable {
        package var user: UserID
        package var identity: [UInt8]
        /// Changes when the keys do.
        package var generation: Int
    }

    package static let usersMax = 100

    /// The identities of those who have one, in the order asked; strangers and people without a keychain are left out.
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
            guard let account = try await names.owner(of: user, in: container),
                let keychain: Keychain = try await book.row(AccountKey.keychain(of: account))
            else { continue }
            entries.append(Entry(user: user, identity: keychain.identity, generation: keychain.generation))
        }
        return entries
    }
}
