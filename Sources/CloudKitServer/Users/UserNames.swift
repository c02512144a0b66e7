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

    static func fresh(_ surroundings: Surroundings) -> UserID { UserID("_" + surroundings.randomHex(bytes: 16)) }
}
