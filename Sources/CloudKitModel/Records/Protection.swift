/// The keys of a record's sealed values (docs/encryption.md). Sealed values and protection travel together: one
/// record, one epoch.
package struct Protection: Hashable, Sendable {
    /// The epoch of the zone's key under which all sealed values of the record are.
    package var epoch: UInt32
    /// The record's key, wrapped for users who do not have the zone's key. Opaque to a server; empty where the key is
    /// derived and the record has no parent.
    package var keys: [UInt8]

    /// Creates a value with the given properties.
    package init(epoch: UInt32, keys: [UInt8] = []) {
        self.epoch = epoch
        self.keys = keys
    }

    /// The most bytes of `keys`.
    package static let keysBytesMax = 65_536
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
