import CloudKitModel
import CloudKitRecordLayer
import Crypto

/// The public half of a key with which a server signs its requests (docs/web-services.md §2.4).
package struct ServerKey: BookRow, Codable, Hashable, Sendable {
    /// 64 hexadecimal digits.
    package var id: String
    package var container: String
    package var environment: String
    package var name: String
    /// SubjectPublicKeyInfo, PEM.
    package var publicKey: String
    /// The user in whose name the key writes.
    package var userRecordName: String
    /// Milliseconds since 1970.
    package var created: Int64
    package var isRevoked: Bool
}

/// A text that is no public key of the right kind.
package struct ServerKeyError: Error, Hashable, Sendable, CustomStringConvertible {
    package var description: String {
        "This is not a public P-256 key in PEM form. Make one with: openssl ecparam -name prime256v1 -genkey -noout "
            + "-out key.pem && openssl ec -in key.pem -pubout -out public.pem"
    }
}

/// The server-to-server keys of all containers.
package struct ServerKeys: Sendable {
    let book: Book
    let surroundings: Surroundings

    package init(book: Book, surroundings: Surroundings) {
        self.book = book
        self.surroundings = surroundings
    }

    /// Registers a public key and gives it an identity.
    ///
    /// - Throws: `ServerKeyError`.
    package func add(
        publicKey: String, container: ContainerID, environment: Environment, name: String
    ) async throws -> ServerKey {
        guard (try? P256.Signing.PublicKey(pemRepresentation: publicKey)) != nil else { throw ServerKeyError() }
        let key = ServerKey(
            id: surroundings.randomHex(bytes: 32), container: container.name, environment: environment.rawValue,
            name: name, publicKey: publicKey, userRecordName: UserNames.fresh(surroundings).recordName,
            created: surroundings.now(), isRevoked: false)
        try await book.change { try $0.set(AccountKey.serverKey(key.id), to: key) }
        return key
    }

    /// Every key, oldest first, revoked ones too.
    package func list() async throws -> [ServerKey] {
        try await book.rows(prefix: AccountKey.serverKeys).sorted { $0.created < $1.created }
    }

    /// nil when there is none or it was revoked.
    package func find(_ id: String) async throws -> ServerKey? {
        guard id.utf8.count == 64 else { return nil }
        let key: ServerKey? = try await book.row(AccountKey.serverKey(id))
        return key?.isRevoked == false ? key : nil
    }

    /// Revokes a key given the first digits of its id; what comes back is read as by `APITokens.revoke`.
    package func revoke(_ text: String) async throws -> [ServerKey] {
        try await book.revoke(among: try await list()) { !text.isEmpty && $0.id.hasPrefix(text) }
    }
}
