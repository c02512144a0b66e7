import Crypto

/// The secret that opens an asset: a random key, and the size and checksum of the plain file.
///
/// The bytes are sealed under a key that the checksum is part of, so that a file which changed is sealed under another key
/// even if an upload continues with the same secret.
package struct AssetSecret: Hashable, Sendable {
    private let key: [UInt8]
    /// In bytes.
    package let plainSize: Int
    /// Of the plain file; 32 bytes.
    package let plainSHA256: [UInt8]

    private static let byteCount = 72

    /// For a file about to be sealed.
    /// - Throws: `malformed` for an impossible size or checksum.
    package init(plainSize: Int, plainSHA256: [UInt8], random: Randomness = .system) throws(EncryptionError) {
        try self.init(key: random.bytes(32), plainSize: plainSize, plainSHA256: plainSHA256, item: .asset)
    }

    /// As this device keeps it while an upload is on its way; what `bytes` gave.
    package init(bytes: [UInt8]) throws(EncryptionError) { try self.init(bytes: bytes, item: .asset) }

    init(bytes: [UInt8], item: EncryptionError.Item) throws(EncryptionError) {
        var reader = ByteReader(bytes, of: item)
        let key = Array(try reader.take(32))
        let size = try reader.takeNumber(UInt64.self)
        let checksum = Array(try reader.take(32))
        try reader.finish()
        try self.init(key: key, plainSize: Int(clamping: size), plainSHA256: checksum, item: item)
    }

    private init(
        key: [UInt8], plainSize: Int, plainSHA256: [UInt8], item: EncryptionError.Item
    ) throws(EncryptionError) {
        guard (0...AssetLayout.plainBytesMax).contains(plainSize) else {
            throw .malformed(item, reason: "an impossible size")
        }
        guard plainSHA256.count == 32 else { throw .malformed(item, reason: "a checksum has 32 bytes") }
        self.key = key
        self.plainSize = plainSize
        self.plainSHA256 = plainSHA256
    }

    /// Key, size (8 bytes, big-endian), checksum; for this device's private files only.
    package var bytes: [UInt8] {
        var bytes = key
        bytes.reserveCapacity(Self.byteCount)
        bytes.appendBigEndian(UInt64(plainSize))
        return bytes + plainSHA256
    }

    /// The key of the stream.
    var streamKey: SymmetricKey {
        var info = Frame("welkin asset stream 1")
        info.append(UInt64(plainSize))
        info.append(plainSHA256)
        return SymmetricKey(data: KeyMaterial(key).derive(info).bytes)
    }
}

extension AssetSecret: CustomStringConvertible, CustomReflectable {
    /// A textual form of the value, for logs and debugging.
    package var description: String { "(asset secret of \(plainSize) bytes)" }
    /// Shows nothing: secrets do not appear in logs.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
