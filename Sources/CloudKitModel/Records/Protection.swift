/// The keys of a record's sealed values (docs/encryption.md). Sealed values and protection travel together: one
/// record, one epoch.
package struct Protection: Hashable, Sendable {
    /// The epoch of the zone's key under which all sealed values of the record are.
    package var epoch: UInt32
    /// The record's key, wrapped for users who do not have the zone's key. Opaque to a server; empty where the key is
    /// derived and the record has no parent.
    package var keys: [UInt8]
    /// The device's statement of the record's sealed values, type and parent in this version. A server reads its
    /// `StatementForm` only; empty where the record never had a sealed value.
    package var statement: [UInt8]

    /// Creates a value with the given properties.
    package init(epoch: UInt32, keys: [UInt8] = [], statement: [UInt8] = []) {
        self.epoch = epoch
        self.keys = keys
        self.statement = statement
    }

    /// The most bytes of `keys`.
    package static let keysBytesMax = 65_536
    /// The most bytes of `statement`.
    package static let statementBytesMax = 262_144

    /// The bytes that count as the record's content.
    package var byteCount: Int { keys.count + statement.count }

    /// Returns a Boolean value that indicates whether both hold the same key of the record, wrapped for the same users.
    package func hasSameKeys(as other: Protection?) -> Bool { epoch == other?.epoch && keys == other?.keys }
}

/// The parts of a record's statement that are visible without keys: version byte, version of the record (8 bytes,
/// big-endian), tag of the statement before it (16), creation date (8), listed values, nonce (12), tag (16).
package enum StatementForm {
    /// The first byte of a statement.
    package static let version: UInt8 = 1
    /// The bytes of a tag.
    package static let tagBytes = 16
    /// The least bytes of a statement: that of a record without sealed values.
    package static let bytesMin = 1 + 8 + tagBytes + 8 + 2 + 12 + tagBytes
    /// The tag that the first statement of a record names as that of the one before it.
    package static let noTag = [UInt8](repeating: 0, count: tagBytes)

    /// Returns a Boolean value that indicates whether these bytes have the form of a statement.
    package static func isValid(_ bytes: [UInt8]) -> Bool { bytes.count >= bytesMin && bytes[0] == version }

    /// The tag of a statement in valid form, by which the next one names it.
    package static func tag(of bytes: [UInt8]) -> ArraySlice<UInt8> { bytes.suffix(tagBytes) }

    /// The number of the record's version in a statement in valid form.
    package static func recordVersion(of bytes: [UInt8]) -> UInt64 { bytes[1..<9].reduce(0) { $0 << 8 | UInt64($1) } }

    /// The tag of the statement before one in valid form.
    package static func previousTag(of bytes: [UInt8]) -> ArraySlice<UInt8> { bytes[9..<9 + tagBytes] }

    /// The record's creation in milliseconds since 1970, as a statement in valid form names it; nil: it does not.
    package static func created(of bytes: [UInt8]) -> Int64? {
        let milliseconds = bytes[9 + tagBytes..<17 + tagBytes].reduce(0) { $0 << 8 | UInt64($1) }
        return milliseconds == 0 ? nil : Int64(bitPattern: milliseconds)
    }
}

/// The parts of a sealed value that are visible without opening it: version byte, epoch (4 bytes, big-endian), nonce (12),
/// ciphertext, tag (16).
package enum SealedForm {
    /// The first byte of a sealed value.
    package static let version: UInt8 = 1
    /// The least bytes of a sealed value: version, epoch, nonce and tag.
    package static let bytesMin = 1 + 4 + 12 + 16

    /// The epoch of a sealed value; nil: these bytes are none.
    package static func epoch(of bytes: [UInt8]) -> UInt32? {
        guard bytes.count >= bytesMin, bytes[0] == version else { return nil }
        return bytes[1..<5].reduce(0) { $0 << 8 | UInt32($1) }
    }
}
