import CloudKitModel
import CloudKitRecordLayer

/// The API tokens of all containers. A container exists from its first token on.
package struct APITokens: Sendable {
    let book: Book
    let surroundings: Surroundings

    package init(book: Book, surroundings: Surroundings) {
        self.book = book
        self.surroundings = surroundings
    }

    /// Makes a token.
    ///
    /// - Returns: The token, which nobody can read again, and what is kept of it.
    package func create(
        container: ContainerID, environment: Environment, name: String, allowedOrigins: [String] = [],
        callback: String? = nil
    ) async throws -> (token: String, row: APIToken) {
        let token = surroundings.randomHex(bytes: 32)
        let row = APIToken(
            hash: APIToken.hash(of: token), container: container.name, environment: environment.rawValue, name: name,
            allowedOrigins: allowedOrigins, callback: callback, created: surroundings.now(), isRevoked: false)
        try await book.change { try $0.set(AccountKey.apiToken(hash: row.hash), to: row) }
        return (token, row)
    }

    /// Every token, oldest first, revoked ones too.
    package func list() async throws -> [APIToken] {
        try await book.rows(prefix: AccountKey.apiTokens).sorted { $0.created < $1.created }
    }

    /// - Returns: The token as it is kept, nil when there is none or it was revoked.
    package func find(_ token: String) async throws -> APIToken? {
        guard token.utf8.count == 64 else { return nil }
        let row: APIToken? = try await book.row(AccountKey.apiToken(hash: APIToken.hash(of: token)))
        return row?.isRevoked == false ? row : nil
    }

    /// Revokes a token given itself or the first digits of its id.
    ///
    /// - Returns: What was revoked; empty when nothing matches, more than one when `text` is ambiguous, and then nothing
    ///   is revoked.
    package func revoke(_ text: String) async throws -> [APIToken] {
        let hash = APIToken.hash(of: text)
        return try await book.revoke(among: try await list()) {
            $0.hash == hash || (!text.isEmpty && $0.hash.hasPrefix(text))
        }
    }
}
