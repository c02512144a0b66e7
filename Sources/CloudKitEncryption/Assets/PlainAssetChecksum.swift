import Crypto
import Foundation

/// The SHA-256 of a plain file, piece by piece.
package struct PlainAssetChecksum: Sendable {
    private var hash = SHA256()

    /// Creates the checksum of an empty file.
    package init() {}

    /// Adds the next piece of the file.
    package mutating func update(_ piece: some DataProtocol) { hash.update(data: piece) }

    /// 32 bytes; more pieces may follow.
    package var sha256: [UInt8] { Array(hash.finalize()) }
}
