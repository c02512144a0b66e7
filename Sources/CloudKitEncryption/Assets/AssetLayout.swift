/// The positions of an asset's chunks, plain and sealed.
///
/// Plain bytes are cut into chunks of 64 KiB, the last one shorter; an empty file is one empty chunk. Sealed, a chunk is
/// 16 bytes longer, and the first one begins with the header of 5 bytes. The chunks follow each other without gaps.
package struct AssetLayout: Hashable, Sendable {
    /// The size of the plain file in bytes.
    package let plainSize: Int

    /// The bytes of plain file in a chunk, except for the last one.
    package static let chunkBytes = 65_536
    static let tagBytes = 16
    static let header: [UInt8] = [1, 0x00, 0x01, 0x00, 0x00]
    /// 2^32 chunks: 256 TiB.
    package static let plainBytesMax = 1 << 48

    /// - Throws: `malformed` below 0 and above `plainBytesMax`.
    package init(plainSize: Int) throws(EncryptionError) {
        guard (0...Self.plainBytesMax).contains(plainSize) else {
            throw .malformed(.asset, reason: "an impossible size")
        }
        self.plainSize = plainSize
    }

    /// - Throws: `truncated` or `malformed` for a size that no sealed asset has.
    package init(sealedSize: Int) throws(EncryptionError) {
        let chunks = sealedSize - Self.header.count
        guard chunks >= Self.tagBytes else { throw .truncated(.asset) }
        let (full, rest) = chunks.quotientAndRemainder(dividingBy: Self.chunkBytes + Self.tagBytes)
        guard rest == 0 || rest > Self.tagBytes || (full == 0 && rest == Self.tagBytes) else {
            throw .truncated(.asset)
        }
        try self.init(plainSize: full * Self.chunkBytes + max(0, rest - Self.tagBytes))
    }

    /// The size of the sealed file in bytes.
    package var sealedSize: Int { Self.header.count + plainSize + chunkCount * Self.tagBytes }

    /// At least one.
    package var chunkCount: Int { max(1, (plainSize + Self.chunkBytes - 1) / Self.chunkBytes) }

    /// Returns the range of a chunk in the plain file.
    package func plainRange(ofChunk index: Int) -> Range<Int> {
        let start = min(index * Self.chunkBytes, plainSize)
        return start..<min(start + Self.chunkBytes, plainSize)
    }

    /// Returns the range of neighbouring chunks in the plain file.
    package func plainRange(ofChunks chunks: Range<Int>) -> Range<Int> {
        plainRange(ofChunk: chunks.lowerBound).lowerBound..<plainRange(ofChunk: chunks.upperBound).lowerBound
    }

    /// Returns the range of a chunk in the sealed file; the first chunk has the header.
    package func sealedRange(ofChunk index: Int) -> Range<Int> {
        let plain = plainRange(ofChunk: index)
        let start = Self.header.count + plain.lowerBound + index * Self.tagBytes
        return (index == 0 ? 0 : start)..<(start + plain.count + Self.tagBytes)
    }

    /// Returns the index of the chunk with a byte of the sealed file, at which a broken transfer continues; the chunk
    /// count at the very end.
    package func chunk(atSealedOffset offset: Int) -> Int {
        guard offset < sealedSize else { return chunkCount }
        return max(0, offset - Self.header.count) / (Self.chunkBytes + Self.tagBytes)
    }

    func checkChunk(_ index: Int) throws(EncryptionError) {
        guard (0..<chunkCount).contains(index) else { throw .malformed(.asset, reason: "there is no such chunk") }
    }

    /// 3 bytes of zero, the chunk's number in 8, and 1 for the last chunk.
    func nonce(ofChunk index: Int) -> [UInt8] {
        var nonce: [UInt8] = [0, 0, 0]
        nonce.appendBigEndian(UInt64(index))
        nonce.append(index == chunkCount - 1 ? 1 : 0)
        return nonce
    }

    /// Associated data of every chunk.
    static let frame: [UInt8] = {
        var frame = Frame("welkin asset chunk 1")
        frame.append(header)
        return frame.bytes
    }()
}
