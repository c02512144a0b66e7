/// What an operator's program shows where only operators may ask: 64 hexadecimal digits, of which the cloud keeps the hash.
package struct OperatorToken: BookRow, Codable, Hashable, Sendable {
    /// SHA-256 of the token, in hexadecimal.
    package var hash: String
    /// What it is for; the operator's own note.
    package var name: String
    /// Milliseconds since 1970.
    package var created: Int64
    package var isRevoked: Bool

    /// By what lists and the log name it: the first digits of the hash.
    package var id: String { String(hash.prefix(12)) }
}
