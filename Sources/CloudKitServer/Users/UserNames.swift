import CloudKitModel
import CloudKitRecordLayer

/// The names by which containers know accounts (B-USR-01).
package struct UserNames: Sendable {
    let book: Book
    let surroundings: Surroundings

    package init(book: Book, surroundings: Surroundings) {
        self.book = book
        self.surroundings = surroundings
    }

    /// The name of an account in a container; made by the first to ask, random, the same ever after.
    package func name(of account: String, in container: ContainerID) async throws -> UserID {
        let key = AccountKey.userName(of: account, in: container.name)
        if let known = try await book.get(key) { return UserID(String(decoding: known, as: UTF8.self)) }
        let fresh = Self.fresh(surroundings)
        return try await book.change { page in
            // Another device of the same account may have come first.
            if let known = try await page.get(key) { return UserID(String(decoding: known, as: UTF8.self)) }
            page.set(key, to: Array(fresh.recordName.utf8))
            page.set(AccountKey.userAccount(fresh.recordName), to: Array(account.utf8))
            return fresh
        }
    }

    /// The containers that know an account, with the names they know it by.
    func all(of account: String) async throws -> [(container: ContainerID, user: UserID)] {
        let prefix = AccountKey.userNames(of: account)
        return try await book.entries(prefix: prefix).map {
            (ContainerID(String($0.key.dropFirst(prefix.count))), UserID(String(decoding: $0.value, as: UTF8.self)))
        }
    }

    /// The name of an account in a container that it has been to; nil otherwise.
    package func knownName(of account: String, in container: ContainerID) async throws -> UserID? {
        try await book.get(AccountKey.userName(of: account, in: container.name)).map {
            UserID(String(decoding: $0, as: UTF8.self))
        }
    }

    /// The account that a container knows by a name.
    func owner(of user: UserID, in container: ContainerID) async throws -> String? {
        guard let id = try await book.get(AccountKey.userAccount(user.recordName)) else { return nil }
        let account = String(decoding: id, as: UTF8.self)
        return try await knownName(of: account, in: container) == user ? account : nil
    }

    static func fresh(_ surroundings: Surroundings) -> UserID { UserID("_" + surroundings.randomHex(bytes: 16)) }
}
