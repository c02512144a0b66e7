import CloudKitModel

/// The API tokens of all containers. A container exists from its first token on.
package struct APITokens: Sendable {
    let store: AccountStore

    /// Makes a token.
    ///
    /// - Returns: The token, which cannot be read again, and its stored row.
    package func create(
        container: ContainerID, environment: Environment, name: String, allowedOrigins: [String] = [],
        callback: String? = nil
    ) async throws -> (token: String, row: APIToken) {
        let token = store.serverEnvironment.randomHex(bytes: 32)
        let row = try await add(
            token, container: container, environment: environment, name: name, allowedOrigins: allowedOrigins,
            callback: callback)
        return (token, row)
    }

    /// Stores a token that exists already, made like those of `create`.
    @discardableResult
    package func add(
        _ token: String, container: ContainerID, environment: Environment, name: String, allowedOrigins: [String] = [],
        callback: String? = nil
    ) async throws -> APIToken {
        let row = APIToken(
            hash: APIToken.hash(of: token), container: container.name, environment: environment.rawValue, name: name,
            allowedOrigins: allowedOrigins, callback: callback, created: store.serverEnvironment.now(),
            isRevoked: false)
        try await APIToken.table.set(row.key, to: row, in: store)
        return row
    }

    /// Returns every token, oldest first, revoked ones too.
    package func list() async throws -> [APIToken] {
        try await APIToken.table.rows(in: store).sorted { $0.created < $1.created }
    }

    /// Returns the environments in which a container has a token that is not revoked.
    ///
    /// - Parameter container: The container.
    package func environments(of container: ContainerID) async throws -> [Environment] {
        let names = Set(
            try await list().filter { $0.container == container.name && !$0.isRevoked }.map(\.environment))
        return Environment.allCases.filter { names.contains($0.rawValue) }
    }

    /// Returns the row of a token, nil when there is none or it was revoked.
    package func find(_ token: String) async throws -> APIToken? {
        guard token.utf8.count == 64 else { return nil }
        let row = try await APIToken.table.row(APIToken.hash(of: token), in: store)
        return row?.isRevoked == false ? row : nil
    }

    /// Revokes a token given itself or the first digits of its id.
    ///
    /// - Returns: The revoked token; empty when nothing matches, more than one when `text` is ambiguous, and then nothing
    ///   is revoked.
    package func revoke(_ text: String) async throws -> [APIToken] {
        let hash = APIToken.hash(of: text)
        return try await store.revoke(among: try await list()) {
            $0.hash == hash || (!text.isEmpty && $0.hash.hasPrefix(text))
        }
    }
}

extension AccountStore {
    /// The API tokens of all containers.
    package var apiTokens: APITokens { APITokens(store: self) }
}
