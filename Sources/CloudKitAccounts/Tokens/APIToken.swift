import CloudKitModel
import CloudKitRecordLayer
import Crypto

/// The token that admits an app to a container: 64 hexadecimal digits, of which the cloud keeps the hash.
package struct APIToken: RevocableRow, Hashable {
    /// SHA-256 of the token, in hexadecimal.
    package var hash: String
    /// The identifier of the container that it belongs to.
    package var container: String
    /// `development` or `production`.
    package var environment: String
    /// For the operator.
    package var name: String
    /// Origins of web pages that may use it, such as `https://app.example.com`; none: any.
    package var allowedOrigins: [String]
    /// The address to which the sign-in page sends the browser; nil: it posts a message to the page that opened it.
    package var callback: String?
    /// Milliseconds since 1970.
    package var created: Int64
    /// Whether it gives no access any more.
    package var isRevoked: Bool

    /// The operator's name for it: the first digits of the hash.
    package var id: String { String(hash.prefix(12)) }

    /// Returns whether a page of this origin may use the token; nil is a caller that is no web page.
    package func allows(origin: String?) -> Bool {
        guard let origin, !allowedOrigins.isEmpty else { return true }
        return allowedOrigins.contains(origin)
    }

    /// hash → `APIToken`
    package static let table = RowTable<String, APIToken>("api-token")
    var key: String { hash }

    /// Returns the hash by which a token is stored.
    package static func hash(of token: String) -> String { SHA256.hash(data: Array(token.utf8)).hex }
}
