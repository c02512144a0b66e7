import Crypto

/// The data that an authenticator signs (WebAuthn, §6.1).
struct AuthenticatorData {
    /// A key that the authenticator made.
    struct Made {
        var id: [UInt8]
        var key: CBORValue
        /// The key as the authenticator encoded it.
        var keyBytes: [UInt8]
    }

    var counter: UInt32
    var isBackedUp: Bool
    var made: Made?

    /// The longest identifier of a key.
    static let idBytesMax = 1023

    /// Reads the data and checks what it says of the party and the person.
    ///
    /// - Throws: `CredentialError`.
    init(_ bytes: [UInt8], party: RelyingParty) throws(CredentialError) {
        guard bytes.count >= 37 else { throw .malformed("cut") }
        guard Array(bytes[..<32]) == Array(SHA256.hash(data: Array(party.id.utf8))) else { throw .claim("party") }
        let flags = bytes[32]
        guard flags & 0x01 != 0, flags & 0x04 != 0 else { throw .claim("user verification") }
        // What is not eligible for a backup is not backed up.
        guard flags & 0x18 != 0x10 else { throw .malformed("a backup of what has none") }
        isBackedUp = flags & 0x10 != 0
        counter = bytes[33..<37].reduce(0) { $0 << 8 | UInt32($1) }
        var rest = bytes[37...]
        if flags & 0x40 != 0 {
            guard rest.count >= 18 else { throw .malformed("cut") }
            let length = Int(rest[rest.startIndex + 16]) << 8 | Int(rest[rest.startIndex + 17])
            rest = rest.dropFirst(18)
            guard (1...Self.idBytesMax).contains(length), rest.count > length else {
                throw .malformed("no identifier")
            }
            let id = Array(rest.prefix(length))
            var reader = CBORReader(rest.dropFirst(length))
            let before = reader.rest
            let key = try reader.value()
            made = Made(id: id, key: key, keyBytes: Array(before.dropLast(reader.rest.count)))
            rest = reader.rest
        }
        if flags & 0x80 != 0 {
            var reader = CBORReader(rest)
            guard case .map = try reader.value() else { throw .malformed("no extensions") }
            rest = reader.rest
        }
        guard rest.isEmpty else { throw .malformed("bytes behind the data") }
    }
}
