import Crypto
import Foundation

/// The checksum by which the cloud names a file (docs/web-services.md §7): base64 of 0x01 and the SHA-1 of a salt and the file.
struct FileChecksum: Sendable {
    private var digest: Insecure.SHA1

    init() {
        digest = Insecure.SHA1()
        digest.update(data: Array("com.apple.XattrObjectSalt\0com.apple.DataObjectSalt\0".utf8))
    }

    mutating func update(_ bytes: some DataProtocol) { digest.update(data: bytes) }

    /// 28 characters.
    var text: String { Data([1] + Array(digest.finalize())).base64EncodedString() }
}

/// The digest of a file's contents, for comparing files and checking fetched copies.
struct AssetDigest: Hashable, Sendable {
    /// Bytes.
    var size: Int64
    var checksum: Checksum

    enum Checksum: Hashable, Sendable {
        /// SHA-256 of the plain contents, which identifies an encrypted asset.
        case content([UInt8])
        /// `FileChecksum`, which identifies a plain asset.
        case file(String)
    }
}

/// Takes in a file a part at a time.
struct AssetDigester: Sendable {
    private(set) var size: Int64 = 0
    private var kind: Kind

    private enum Kind: Sendable {
        case content(SHA256)
        case file(FileChecksum)
    }

    /// - Parameter isSealed: Whether the file leaves the device encrypted.
    init(isSealed: Bool) { kind = isSealed ? .content(SHA256()) : .file(FileChecksum()) }

    mutating func update(_ bytes: some DataProtocol) {
        size += Int64(bytes.count)
        switch kind {
        case .content(var digest):
            digest.update(data: bytes)
            kind = .content(digest)
        case .file(var digest):
            digest.update(bytes)
            kind = .file(digest)
        }
    }

    /// Returns the digest with further bytes.
    func updated(_ bytes: [UInt8]) async -> AssetDigester {
        var copy = self
        copy.update(bytes)
        return copy
    }

    var result: AssetDigest {
        switch kind {
        case .content(let digest): AssetDigest(size: size, checksum: .content(Array(digest.finalize())))
        case .file(let digest): AssetDigest(size: size, checksum: .file(digest.text))
        }
    }
}
