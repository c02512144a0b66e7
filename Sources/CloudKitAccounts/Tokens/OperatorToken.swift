import CloudKitModel
import CloudKitRecordLayer

/// The token of an operator's program: 64 hexadecimal digits, of which the cloud keeps the hash.
package struct OperatorToken: RevocableRow, Hashable {
    /// SHA-256 of the token, in hexadecimal.
    package var hash: String
    /// The operator's own note on its purpose.
    package var name: String
    /// The only container that it gives access to; nil for a token of the whole cloud.
    package var container: String?
    /// Milliseconds since 1970.
    package var created: Int64
    /// Whether it gives no access any more.
    package var isRevoked: Bool

    /// Its name in lists and the log: the first digits of the hash.
    package var id: String { String(hash.prefix(12)) }

    /// Returns whether the token gives access to a container.
    package func reaches(_ container: ContainerID) -> Bool {
        self.container.map { $0 == container.name } ?? true
    }

    /// hash → `OperatorToken`
    package static let table = RowTable<String, OperatorToken>("operator-token")
    var key: String { hash }
}
