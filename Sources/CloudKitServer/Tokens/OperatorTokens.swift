import CloudKitModel
import CloudKitRecordLayer

/// The tokens of a cloud's operators. Without one, nothing that they open can be reached.
package struct OperatorTokens: Sendable {
    let book: Book
    let surroundings: Surroundings

    /// Tokens in use at a time: each is compared with what a request shows.
    static let inUseMax = 100
    /// Bytes of a token's name.
    static let nameBytesMax = 100

    package init(book: Book, surroundings: Surroundings) {
        self.book = book
        self.surroundings = surroundings
    }

    /// Makes a token.
    ///
    /// - Parameter name: At most 100 bytes.
    /// - Returns: The token, which nobody can read again, and what is kept of it.
    /// - Throws: `RequestFailure` `badRequest` when there are 100 in use, or the name is too long.
    package func create(name: String) async throws -> (token: String, row: OperatorToken) {
        guard name.utf8.count <= Self.nameBytesMax else {
            throw RequestFailure(.badRequest, "the name is too long", remedy: "Use at most 100 bytes.")
        }
        let token = surroundings.randomHex(bytes: 32)
        let row = OperatorToken(
            hash: APIToken.hash(of: token), name: name, created: surroundings.now(), isRevoked: false)
        try await book.change { page in
            let inUse = try await page.rows(prefix: AccountKey.operatorTokens, as: OperatorToken.self)
                .filter { !$0.isRevoked }
            guard inUse.count < Self.inUseMax else {
                throw RequestFailure(
                    .badRequest, "\(Self.inUseMax) operator's tokens are in use", remedy: "Revoke one first.")
            }
            try page.set(AccountKey.operatorToken(hash: row.hash), to: row)
        }
        return (token, row)
    }

    /// Every token, oldest first, revoked ones too.
    package func list() async throws -> [OperatorToken] {
        try await book.rows(prefix: AccountKey.operatorTokens).sorted { ($0.created, $0.id) < ($1.created, $1.id) }
    }

    /// Whether a token was shown that is good.
    package enum Standing: Hashable, Sendable {
        /// No token is in use: what tokens open does not exist.
        case off
        /// None was shown, or a wrong one.
        case refused
        case good(OperatorToken)
    }

    /// Judges what a request shows. Compares with every token in use, in constant time.
    package func standing(of shown: String?) async throws -> Standing {
        let inUse = try await list().filter { !$0.isRevoked }
        guard !inUse.isEmpty else { return .off }
        guard let shown, shown.utf8.count == 64 else { return .refused }
        let hash = Array(APIToken.hash(of: shown).utf8)
        var found: OperatorToken?
        for row in inUse where isEqualInConstantTime(hash, Array(row.hash.utf8)) { found = row }
        return found.map(Standing.good) ?? .refused
    }

    /// Revokes a token given itself or the first digits of its id.
    ///
    /// - Returns: What was revoked; empty when nothing matches, more than one when `text` is ambiguous, and then nothing
    ///   is revoked.
    package func revoke(_ text: String) async throws -> [OperatorToken] {
        let hash = APIToken.hash(of: text)
        return try await book.revoke(among: try await list()) {
            $0.hash == hash || (!text.isEmpty && $0.hash.hasPrefix(text))
        }
    }
}
