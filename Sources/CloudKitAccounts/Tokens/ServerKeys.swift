import CloudKitModel
import Crypto

/// The server-to-server keys of all containers.
package struct ServerKeys: Sendable {
    let store: AccountStore

    /// Registers a public key and gives it an identity.
    ///
    /// - Parameter publicKey: PEM.
    /// - Throws: `ServerKeyError`.
    package func add(
        publicKey: String, container: ContainerID, environment: Environment, name: String
    ) async throws -> ServerKey {
        guard (try? P256.Signing.PublicKey(pemRepresentation: publicKey)) != nil else { throw ServerKeyError() }
        let key = ServerKey(
            id: store.serverEnvironment.randomHex(bytes: 32), container: container.name,
            environment: environment.rawValue, name: name, publicKey: publicKey,
            userRecordName: store.newUserName().recordName, created: store.serverEnvironment.now(), isRevoked: false)
        try await ServerKey.table.set(key.id, to: key, in: store)
        return key
    }

    /// Returns every key, oldest first, revoked ones too.
    package func list() async throws -> [ServerKey] {
        try await ServerKey.table.rows(in: store).sorted { $0.created < $1.created }
    }

    /// Returns the key with an id, nil when there is none or it was revoked.
    package func find(_ id: String) async throws -> ServerKey? {
        guard id.utf8.count == 64 else { return nil }
        let key = try await ServerKey.table.row(id, in: store)
        return key?.isRevoked == false ? key : nil
    }

    /// Revokes a key given the first digits of its id.
    ///
    /// - Returns: The revoked key; empty when nothing matches, more than one when `text` is ambiguous, and then nothing
    ///   is revoked.
    package func revoke(_ text: String) async throws -> [ServerKey] {
        try await store.revoke(among: try await list()) { !text.isEmpty && $0.id.hasPrefix(text) }
    }
}

extension AccountStore {
    /// The server-to-server keys of all containers.
    package var serverKeys: ServerKeys { ServerKeys(store: self) }
}
