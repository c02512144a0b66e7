import Crypto

/// A SHA-256 hash of 32 bytes, as the directory's tree, log and heads use them.
package struct DirectoryHash: Hashable, Sendable {
    /// 32 bytes.
    package let bytes: [UInt8]
    /// The length in bytes.
    package static let byteCount = 32
    /// 32 zeros: no hash.
    package static let zero = DirectoryHash(unchecked: [UInt8](repeating: 0, count: byteCount))

    /// - Returns: nil for another count than 32 bytes.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = Array(bytes)
    }

    private init(unchecked bytes: [UInt8]) { self.bytes = bytes }

    /// Hashes bytes.
    package init(of bytes: [UInt8]) { self.init(unchecked: Array(SHA256.hash(data: bytes))) }

    /// Hashes bytes with a key, by HMAC.
    package init(of bytes: [UInt8], key: [UInt8]) {
        self.init(unchecked: Array(HMAC<SHA256>.authenticationCode(for: bytes, using: SymmetricKey(data: key))))
    }
}

/// The encoding of a purpose and parts, each behind its length: the `frame` of docs/encryption.md.
package struct HashInput {
    /// The frame.
    package private(set) var bytes: [UInt8] = []

    /// Begins a frame with its purpose.
    package init(_ purpose: String) {
        bytes.reserveCapacity(256)
        append(Array(purpose.utf8))
    }

    /// Appends a part.
    package mutating func append(_ part: [UInt8]) {
        append(bigEndian: UInt32(part.count))
        bytes.append(contentsOf: part)
    }

    /// Appends the UTF-8 of a text as a part.
    package mutating func append(_ text: String) { append(Array(text.utf8)) }

    /// Appends a number of 8 bytes, big-endian, as a part.
    package mutating func append(_ number: UInt64) {
        append(bigEndian: UInt32(8))
        append(bigEndian: number)
    }

    mutating func append(_ hash: DirectoryHash) { append(hash.bytes) }

    private mutating func append(bigEndian number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }
}
