import CloudKitRecordLayer

/// The token of an operator's program: 64 hexadecimal digits, of which the cloud keeps the hash.
package struct OperatorToken: RevocableRow, Hashable {
    /// SHA-256 of the token, in hexadecimal.
    package var hash: String
    /// The operator's own note on its purpose.
    package var name: String
    /// Milliseconds since 1970.
    package var created: Int64
    /// Whether it gives no access any more.
    package var isRevoked: Bool

    /// Its name in lists and the log: the first digits of the hash.
    package var id: String { String(hash.prefix(12)) }

    /// hash → `OperatorToken`
    package static let table = RowTable<String, OperatorToken>("operator-token")
    var key: String { hash }
}
