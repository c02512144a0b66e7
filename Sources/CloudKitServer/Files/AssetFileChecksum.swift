import Crypto
import Foundation

/// Computes the `fileChecksum` of web services while a file goes by (docs/web-services.md §7): base 64 of 01 and SHA-1 of a
/// salt and the file, 28 characters.
///
/// It distinguishes files; authenticity is proven by receipts and by seals of the client.
package struct AssetFileChecksum: Sendable {
    private var hash = Insecure.SHA1()
    /// Bytes of the file so far.
    package private(set) var count: Int64 = 0

    private static let salt = Array("com.apple.XattrObjectSalt\0com.apple.DataObjectSalt\0".utf8)

    /// Creates the checksum of an empty file.
    package init() { hash.update(data: Self.salt) }

    /// Adds the next bytes of the file.
    package mutating func update(_ bytes: [UInt8]) {
        hash.update(data: bytes)
        count += Int64(bytes.count)
    }

    /// 21 bytes: nothing to pad.
    package var text: String { Data([1] + hash.finalize()).base64EncodedString() }
}
