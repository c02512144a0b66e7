import Crypto
import Foundation

/// Opens an asset chunk by chunk, in any order.
///
/// A chunk that opens is the one that was sealed at this place of this asset; when all of them opened, the whole is the
/// file that was sealed: nothing can be cut off, moved or repeated. `PlainAssetChecksum` compares the plain file with the
/// secret besides.
package struct AssetOpener: Sendable {
    /// The sizes of the file and its chunks.
    package let layout: AssetLayout
    private let key: SymmetricKey

    /// Creates an opener for the file that `secret` belongs to.
    package init(_ secret: AssetSecret) throws(EncryptionError) {
        layout = try AssetLayout(plainSize: secret.plainSize)
        key = secret.streamKey
    }

    /// Refuses a file of another size before anything of it is fetched.
    package func check(sealedSize: Int) throws(EncryptionError) {
        if sealedSize < layout.sealedSize { throw .truncated(.asset) }
        if sealedSize > layout.sealedSize { throw .malformed(.asset, reason: "bytes follow the end") }
    }

    /// Appends the plain bytes of a chunk to `output`.
    /// - Parameter sealed: The bytes of `layout.sealedRange(ofChunk:)`.
    package func open(
        chunk index: Int, _ sealed: ArraySlice<UInt8>, into output: inout [UInt8]
    ) throws(EncryptionError) {
        try layout.checkChunk(index)
        guard sealed.count == layout.sealedRange(ofChunk: index).count else { throw .truncated(.asset) }
        var body = sealed
        if index == 0 {
            if body[body.startIndex] != AssetLayout.header[0] {
                throw .unknownVersion(.asset, body[body.startIndex])
            }
            guard body.starts(with: AssetLayout.header) else {
                throw .malformed(.asset, reason: "an unknown chunk size")
            }
            body = body.dropFirst(AssetLayout.header.count)
        }
        do {
            let box = try AES.GCM.SealedBox(
                nonce: AES.GCM.Nonce(data: layout.nonce(ofChunk: index)),
                ciphertext: body.dropLast(AssetLayout.tagBytes), tag: body.suffix(AssetLayout.tagBytes))
            output.append(contentsOf: try AES.GCM.open(box, using: key, authenticating: AssetLayout.frame))
        } catch {
            throw .doesNotOpen(.asset)
        }
    }
}
