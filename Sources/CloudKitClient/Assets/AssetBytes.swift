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
    func next(_ wanted: Int) throws(CallFailure) -> [UInt8] {
        try progress.withLock { progress throws(CallFailure) in try take(wanted, &progress) }
    }

    private func take(_ wanted: Int, _ progress: inout Progress) throws(CallFailure) -> [UInt8] {
        guard let sealer else {
            let bytes = try file.read(wanted)
            progress.digest.update(bytes)
            return bytes
        }
        var sealed: [UInt8] = []
        sealed.reserveCapacity(wanted + AssetLayout.chunkBytes)
        while sealed.count < wanted, progress.chunk < sealer.layout.chunkCount {
            let plain = try file.read(sealer.layout.plainRange(ofChunk: progress.chunk).count)
            progress.digest.update(plain)
            do throws(EncryptionError) {
                try sealer.seal(chunk: progress.chunk, plain, into: &sealed)
            } catch {
                // A chunk of another size: the file became shorter.
                throw .assetFileModified("The asset's file changed while it was sent")
            }
            progress.chunk += 1
        }
        progress.outgoing.update(sealed)
        return sealed
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

    /// The contents in the next bytes.
    ///
    /// - Throws: For bytes that were not sealed there.
    mutating func open(_ bytes: [UInt8]) throws(EncryptionError) -> [UInt8] {
        received += Int64(bytes.count)
        guard let opener else { return bytes }
        var plain: [UInt8] = []
        plain.reserveCapacity(rest.count + bytes.count)
        var used = 0
        while chunk < opener.layout.chunkCount {
            let missing = opener.layout.sealedRange(ofChunk: chunk).count - rest.count
            guard bytes.count - used >= missing else { break }
            let part = bytes[used..<(used + missing)]
            if rest.isEmpty {
                try opener.open(chunk: chunk, part, into: &plain)
            } else {
                rest += part
                try opener.open(chunk: chunk, rest[...], into: &plain)
                rest.removeAll(keepingCapacity: true)
            }
            used += missing
            chunk += 1
        }
        rest += bytes[used...]
        return plain
    }
}
