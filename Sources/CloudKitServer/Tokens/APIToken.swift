import CloudKitModel
import Crypto

/// What an app shows to be let in at all: 64 hexadecimal digits, of which the cloud keeps the hash.
package struct APIToken: BookRow, Codable, Hashable, Sendable {
    /// SHA-256 of the token, in hexadecimal.
    package var hash: String
    package var container: String
    package var environment: String
    /// For the operator.
    package var name: String
    /// Origins of web pages that may use it, such as `https://app.example.com`; none: any.
    package var allowedOrigins: [String]
    /// Where the sign-in page sends the browser; nil: it posts a message to the page that opened it.
    package var callback: String?
    /// Milliseconds since 1970.
    package var created: Int64
    package var isRevoked: Bool

    /// By what the operator names it: the first digits of the hash.
    package var id: String { String(hash.prefix(12)) }

    /// Whether a page of this origin may use the token; nil is a caller that is no web page.
    package func allows(origin: String?) -> Bool {
        guard let origin, !allowedOrigins.isEmpty else { return true }
        return allowedOrigins.contains(origin)
    }

    package static func hash(of token: String) -> String { SHA256.hash(data: Array(token.utf8)).hex }
}
