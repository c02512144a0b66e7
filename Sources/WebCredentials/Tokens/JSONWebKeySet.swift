import Foundation

/// The public keys of an issuer (RFC 7517). Keys that are for other purposes or of other kinds are left out.
package struct JSONWebKeySet: Sendable {
    private var keys: [(id: String?, key: SignatureKey)] = []

    /// The longest set that is read.
    package static let bytesMax = 256 * 1024
    private static let keysMax = 100

    /// Reads a set.
    ///
    /// - Throws: `CredentialError.malformed` for what is no set, or longer than any.
    package init(_ bytes: [UInt8]) throws(CredentialError) {
        struct Body: Decodable {
            var keys: [Lenient]
        }
        /// A key, or something else.
        struct Lenient: Decodable {
            var key: JSONWebKey?
            init(from decoder: any Decoder) throws { key = try? JSONWebKey(from: decoder) }
        }
        guard bytes.count <= Self.bytesMax, let body = try? JSONDecoder().decode(Body.self, from: Data(bytes)),
            body.keys.count <= Self.keysMax
        else { throw .malformed("no set of keys") }
        for case let key? in body.keys.map(\.key) {
            if let usable = try? SignatureKey(key) { keys.append((key.kid, usable)) }
        }
    }

    /// Returns the keys with which a token may be signed.
    ///
    /// - Parameters:
    ///   - algorithm: The algorithm that the token names.
    ///   - id: The name of the key in the token; nil: none.
    /// - Throws: `CredentialError.unknownKey`.
    func keys(for algorithm: String, id: String?) throws(CredentialError) -> [SignatureKey] {
        let fitting = keys.filter { $0.key.name == algorithm && (id == nil || $0.id == id) }.map(\.key)
        guard !fitting.isEmpty else { throw .unknownKey }
        return fitting
    }
}
