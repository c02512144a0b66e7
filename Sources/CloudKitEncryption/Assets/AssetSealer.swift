import Crypto
import Foundation

/// Seals an asset chunk by chunk, in any order; the same chunk of the same file gives the same bytes each time.
///
/// So a broken upload continues: seal the chunk at the offset that the cloud has, and send the rest of it. Before a chunk
/// is sealed twice, the caller makes sure that the file is still the one whose checksum the secret holds.
package struct AssetSealer: Sendable {
    /// The sizes of the file and its chunks.
    package let layout: AssetLayout
    private let key: SymmetricKey

    /// Creates a sealer for the file that `secret` belongs to.
    package init(_ secret: AssetSecret) throws(EncryptionError) {
        layout = try AssetLayout(plainSize: secret.plainSize)
        key = secret.streamKey
    }

    /// Appends the sealed form of a chunk, `layout.sealedRange(ofChunk:)` bytes, to `output`.
    /// - Parameter plain: The bytes of `layout.plainRange(ofChunk:)`.
    /// - Throws: `malformed` for another count of bytes: the file changed.
    package func seal(
        chunk index: Int, _ plain: some DataProtocol, into output: inout [UInt8]
    ) throws(EncryptionError) {
        try layout.checkChunk(index)
        guard plain.count == layout.plainRange(ofChunk: index).count else {
            throw .malformed(.asset, reason: "a chunk of another size: the file changed")
        }
        do {
            let nonce = try AES.GCM.Nonce(data: layout.nonce(ofChunk: index))
            let box = try AES.GCM.seal(plain, using: key, nonce: nonce, authenticating: AssetLayout.frame)
            if index == 0 { output.append(contentsOf: AssetLayout.header) }
            output.append(contentsOf: box.ciphertext)
            output.append(contentsOf: box.tag)
        } catch {
            throw .malformed(.asset, reason: "it cannot be sealed")
        }
    }
}
