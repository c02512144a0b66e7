import CloudKitRecordLayer

/// The public half of a key with which a server signs its requests (docs/web-services.md §2.4).
package struct ServerKey: RevocableRow, Hashable {
    /// 64 hexadecimal digits.
    package var id: String
    /// The identifier of the container that it belongs to.
    package var container: String
    /// `development` or `production`.
    package var environment: String
    /// For the operator.
    package var name: String
    /// SubjectPublicKeyInfo, PEM.
    package var publicKey: String
    /// The user in whose name the key writes.
    package var userRecordName: String
    /// Milliseconds since 1970.
    package var created: Int64
    /// Whether it gives no access any more.
    package var isRevoked: Bool

    /// id → `ServerKey`
    package static let table = RowTable<String, ServerKey>("server-key")
    var key: String { id }
}

/// The error for a text that is no public key of the right kind.
package struct ServerKeyError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The sentence for the operator, with the commands that make a key.
    package var description: String {
        "This is not a public P-256 key in PEM form. Make one with: openssl ecparam -name prime256v1 -genkey -noout "
            + "-out key.pem && openssl ec -in key.pem -pubout -out public.pem"
    }
}
