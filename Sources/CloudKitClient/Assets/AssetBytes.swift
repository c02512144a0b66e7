import CloudKitEncryption
import Synchronization

/// The bytes that leave of a file, from front to back: as they are, or sealed (B-AST, docs/encryption.md).
///
/// Belongs to the upload that sends them; the next bytes may be read while earlier ones are sent.
final class OutgoingBytes: Sendable {
    /// The length in bytes of everything that is sent.
    let length: Int64
    private let file: AssetFile
    private let sealer: AssetSealer?
    private let expected: AssetDigest
    private let progress: Mutex<Progress>

    /// The part that was read.
    private struct Progress {
        var chunk = 0
        var digest: AssetDigester
        /// Of the sealed bytes.
        var outgoing = FileChecksum()
    }

    /// - Parameters:
    ///   - secret: The key that seals the file; nil: it is sent plain.
    ///   - digest: The digest of the file from an earlier read.
    init(_ file: AssetFile, secret: AssetSecret?, digest: AssetDigest) throws(CallFailure) {
        self.file = file
        expected = digest
        progress = Mutex(Progress(digest: AssetDigester(isSealed: secret != nil)))
        do throws(EncryptionError) {
            sealer = try secret.map { secret throws(EncryptionError) in try AssetSealer(secret) }
        } catch {
            throw .assetDamaged(error.description)
        }
        length = sealer.map { Int64($0.layout.sealedSize) } ?? digest.size
    }

    /// The name that the cloud has to give the file: the checksum of everything read so far.
    var checksum: String {
        progress.withLock { progress in
            // A plain file leaves as it is read.
            if case .file(let checksum) = progress.digest.result.checksum { checksum } else { progress.outgoing.text }
        }
    }

    /// The next bytes: about as many as wanted, none only at the end.
    ///
    /// - Throws: `CallFailure.assetFileModified` when the file is not what it was.
    func next(_ wanted: Int) async throws(CallFailure) -> [UInt8] {
        guard let sealer else {
            let bytes = try file.read(wanted)
            progress.withLock { $0.digest.update(bytes) }
            return bytes
        }
        var sealed: [UInt8] = []
        sealed.reserveCapacity(wanted + AssetLayout.chunkBytes)
        var progress = progress.withLock { $0 }
        while sealed.count < wanted, progress.chunk < sealer.layout.chunkCount {
            let missing = (wanted - sealed.count + AssetLayout.chunkBytes - 1) / AssetLayout.chunkBytes
            let end = min(progress.chunk + min(missing, Self.stepChunks), sealer.layout.chunkCount)
            let chunks = progress.chunk..<end
            let plain = try file.read(sealer.layout.plainRange(ofChunks: chunks).count)
            // The digest of the contents takes as long as sealing them.
            let digest = progress.digest
            async let digested = digest.updated(plain)
            let start = sealed.count
            try Self.seal(plain, as: chunks, by: sealer, into: &sealed)
            progress.outgoing.update(sealed[start...])
            progress.digest = await digested
            progress.chunk = end
        }
        self.progress.withLock { $0 = progress }
        return sealed
    }

    /// The most chunks that are read and sealed together.
    private static let stepChunks = AssetFile.stepBytes / AssetLayout.chunkBytes

    private static func seal(
        _ plain: [UInt8], as chunks: Range<Int>, by sealer: AssetSealer, into sealed: inout [UInt8]
    ) throws(CallFailure) {
        var left = plain[...]
        for chunk in chunks {
            let part = left.prefix(sealer.layout.plainRange(ofChunk: chunk).count)
            left = left.dropFirst(part.count)
            do throws(EncryptionError) {
                try sealer.seal(chunk: chunk, part, into: &sealed)
            } catch {
                // A chunk of another size: the file became shorter.
                throw .assetFileModified("The asset's file changed while it was sent")
            }
        }
    }

    /// Makes sure, before the last piece leaves, that the file was the same from front to back.
    func checkWhole() throws(CallFailure) {
        try file.checkUnchanged()
        guard progress.withLock({ $0.digest.result }) == expected else {
            throw .assetFileModified("The asset's file changed while it was sent")
        }
    }
}

/// Turns the bytes that come of a file into its contents.
///
/// Belongs to the one task that fetches them.
struct IncomingBytes {
    /// The number of bytes of the whole file.
    let length: Int64
    /// The number of bytes received so far.
    private(set) var received: Int64
    private let opener: AssetOpener?
    private var chunk = 0
    /// The beginning of the chunk, of which the rest has not come.
    private var rest: [UInt8] = []

    /// - Parameters:
    ///   - length: Of the file as the server holds it.
    ///   - secret: What it was sealed with; nil: it comes plain.
    ///   - plain: How many bytes of the contents are here already: of a sealed file whole chunks.
    init(length: Int64, secret: AssetSecret?, after plain: Int64 = 0) throws(EncryptionError) {
        self.length = length
        opener = try secret.map { secret throws(EncryptionError) in try AssetOpener(secret) }
        received = plain
        guard let opener else { return }
        try opener.check(sealedSize: Int(clamping: length))
        chunk = Int(plain) / AssetLayout.chunkBytes
        received =
            chunk < opener.layout.chunkCount ? Int64(opener.layout.sealedRange(ofChunk: chunk).lowerBound) : length
    }

    /// Appends the contents of the next bytes.
    ///
    /// - Throws: For bytes that were not sealed there.
    mutating func open(_ bytes: ArraySlice<UInt8>, into plain: inout [UInt8]) throws(EncryptionError) {
        received += Int64(bytes.count)
        guard let opener else {
            plain += bytes
            return
        }
        var left = bytes
        while chunk < opener.layout.chunkCount {
            let missing = opener.layout.sealedRange(ofChunk: chunk).count - rest.count
            guard left.count >= missing else { break }
            let part = left.prefix(missing)
            if rest.isEmpty {
                try opener.open(chunk: chunk, part, into: &plain)
            } else {
                rest += part
                try opener.open(chunk: chunk, rest[...], into: &plain)
                rest.removeAll(keepingCapacity: true)
            }
            left = left.dropFirst(missing)
            chunk += 1
        }
        rest += left
    }
}
