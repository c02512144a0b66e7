import CloudKitModel

/// The tokens of a cloud's operators. Without one, the endpoints that require one do not exist.
package struct OperatorTokens: Sendable {
    let store: AccountStore

    /// Tokens in use at a time: each is compared with the one that a request shows.
    static let inUseMax = 100
    /// Bytes of a token's name.
    static let nameBytesMax = 100

    /// Makes a token.
    ///
    /// - Parameters:
    ///   - name: At most 100 bytes.
    ///   - container: The only container that the token gives access to; nil for the whole cloud.
    /// - Returns: The token, which cannot be read again, and its stored row.
    /// - Throws: `RequestFailure` `badRequest` when there are 100 in use, or the name is too long.
    package func create(
        name: String, container: ContainerID? = nil
    ) async throws -> (token: String, row: OperatorToken) {
        guard name.utf8.count <= Self.nameBytesMax else {
            throw RequestFailure(.badRequest, "the name is too long", remedy: "Use at most 100 bytes.")
        }
        let token = store.serverEnvironment.randomHex(bytes: 32)
        let row = OperatorToken(
            hash: APIToken.hash(of: token), name: name, container: container?.name,
            created: store.serverEnvironment.now(), isRevoked: false)
        try await store.write { transaction in
            let inUse = try await OperatorToken.table.rows(in: transaction).filter { !$0.isRevoked }
            guard inUse.count < Self.inUseMax else {
                throw RequestFailure(
                    .badRequest, "\(Self.inUseMax) operator tokens are in use", remedy: "Revoke one first.")
            }
            try OperatorToken.table.set(row.key, to: row, in: &transaction)
        }
        return (token, row)
    }

    /// Returns every token, oldest first, revoked ones too.
    package func list() async throws -> [OperatorToken] {
        try await OperatorToken.table.rows(in: store).sorted { ($0.created, $0.id) < ($1.created, $1.id) }
    }

    /// The verdict on the token that a request shows.
    package enum Standing: Hashable, Sendable {
        /// No token is in use: the endpoints that require one do not exist.
        case off
        /// The request shows no token, or a wrong one.
        case refused
        case good(OperatorToken)
    }

    /// Compares the token of a request with every token in use, in constant time.
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
    /// - Returns: The revoked token; empty when nothing matches, more than one when `text` is ambiguous, and then nothing
    ///   is revoked.
    package func revoke(_ text: String) async throws -> [OperatorToken] {
        let hash = APIToken.hash(of: text)
        return try await store.revoke(among: try await list()) {
            $0.hash == hash || (!text.isEmpty && $0.hash.hasPrefix(text))
        }
    }
}

extension AccountStore {
    /// The tokens of the cloud's operators.
    package var operatorTokens: OperatorTokens { OperatorTokens(store: self) }
}
