import CloudKitDevice
import CloudKitEncryption
import CloudKitModel
import Foundation

/// Fetches one file in pieces; after a broken connection it continues with the missing bytes, also in another process.
///
/// Each piece is a `GET` with `Range`. The bytes are opened and written as they arrive; the caller moves the file to
/// its final path only when it is complete and its digest matches.
struct PiecewiseDownload: Sendable {
    let requests: AssetRequests
    /// Bytes of the file as the cloud holds it.
    let length: Int64
    /// The key that seals the file; nil: it is plain.
    let secret: AssetSecret?
    /// The digest that the contents must have.
    let digest: AssetDigest
    var pieceBytes = PieceSizing.pieceBytesDefault

    /// - Parameters:
    ///   - url: Where the file is.
    ///   - renewed: Another address when that one is not good any more; nil: there is none.
    ///   - received: Gets how many bytes of the file have come.
    func run(
        into file: PartialFile, from url: URL, renewed: () async throws(CallFailure) -> URL?,
        received: (Int64) async -> Void
    ) async throws(CallFailure) {
        var transfer = try resume(file)
        let hasLeftover = transfer.bytes.received > 0
        var url = url
        var pace = PieceSizing(pieceBytes: pieceBytes, retries: requests.settings.transferRetries)
        var isRenewed = false
        var ahead: Result<[UInt8], CallFailure>?
        while transfer.bytes.received < length {
            do throws(CallFailure) {
                // Documented web services give a file whole.
                let bytesMax = requests.cloud.surface.isNative ? Int64(pace.pieceBytes) : length
                let range = transfer.bytes.received..<min(transfer.bytes.received + bytesMax, length)
                let piece: [UInt8]
                if let known = ahead.take() {
                    piece = try known.get()
                } else {
                    piece = try await fetch(range, from: url)
                }
                // The next piece comes while this one is opened and written.
                let (next, source) = (range.upperBound..<min(range.upperBound + bytesMax, length), url)
                async let following = result(of: next, from: source)
                try transfer.take(piece, into: file)
                pace.advanced()
                await received(transfer.bytes.received)
                ahead = await following
            } catch {
                if case .refused(let refusal) = error, refusal.code.concernsUploadURL {
                    guard !isRenewed, let other = try await renewed() else {
                        throw .assetNotAvailable("The cloud does not have the file any more: \(refusal.reason)")
                    }
                    isRenewed = true
                    url = other
                    continue
                }
                guard let delay = pace.delay(after: error, of: requests.cloud) else { throw error }
                try await requests.pause(delay)
            }
        }
        guard transfer.digest.result != digest else { return }
        try empty(file)
        // The bytes left by an earlier process may have been damaged on disk.
        guard !hasLeftover else { return try await run(into: file, from: url, renewed: renewed, received: received) }
        throw .assetDamaged("The file that came is not the one that was saved")
    }

    /// The part of the file received so far.
    private struct Transfer {
        var bytes: IncomingBytes
        var digest: AssetDigester
        /// Memory for the contents of a step, used again for each.
        var plain: [UInt8] = []

        mutating func take(_ piece: [UInt8], into file: PartialFile) throws(CallFailure) {
            var left = piece[...]
            while !left.isEmpty {
                plain.removeAll(keepingCapacity: true)
                do throws(EncryptionError) {
                    try bytes.open(left.prefix(AssetFile.stepBytes), into: &plain)
                } catch {
                    file.discard()
                    throw .assetDamaged("The file that came is not the one that was saved: \(error)")
                }
                left = left.dropFirst(AssetFile.stepBytes)
                digest.update(plain)
                do throws(FileFailure) {
                    try file.write(plain)
                } catch {
                    file.discard()
                    throw .assetCacheUnusable(error)
                }
            }
        }
    }

    /// Continues after the bytes left by an earlier attempt.
    private func resume(_ file: PartialFile) throws(CallFailure) -> Transfer {
        var digest = AssetDigester(isSealed: secret != nil)
        do throws(FileFailure) {
            let step = secret == nil ? 1 : Int64(AssetLayout.chunkBytes)
            try file.begin(wholeSteps: step, atMost: self.digest.size) { digest.update($0) }
        } catch {
            throw .assetCacheUnusable(error)
        }
        do throws(EncryptionError) {
            return Transfer(
                bytes: try IncomingBytes(length: length, secret: secret, after: digest.size), digest: digest)
        } catch {
            throw .assetDamaged("The file that came is not the one that was saved: \(error)")
        }
    }

    private func empty(_ file: PartialFile) throws(CallFailure) {
        do throws(FileFailure) {
            try file.empty()
        } catch {
            throw .assetCacheUnusable(error)
        }
    }

    /// Returns a piece, or why it did not come; nil: it is behind the end.
    private func result(of range: Range<Int64>, from url: URL) async -> Result<[UInt8], CallFailure>? {
        if range.isEmpty { return nil }
        do throws(CallFailure) {
            return .success(try await fetch(range, from: url))
        } catch {
            return .failure(error)
        }
    }

    private func fetch(_ range: Range<Int64>, from url: URL) async throws(CallFailure) -> [UInt8] {
        guard requests.cloud.surface.isNative else { return try await fetchWhole(range, from: url) }
        let answer = try await requests.fetch(
            url, headers: ["Range": "bytes=\(range.lowerBound)-\(range.upperBound - 1)"])
        // A file that fits into one piece may come as a whole.
        let isWhole = answer.status == 200 && range == 0..<length
        let isPiece = answer.headers["content-range"] == "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)"
        guard isWhole || (answer.status == 206 && isPiece), answer.body.count <= range.count else {
            throw .assetDamaged("The cloud sent other bytes of the file than were asked for")
        }
        // Cut short on the way.
        guard answer.body.count == range.count else { throw .transport(.connectionLost) }
        return answer.body
    }
}

extension PiecewiseDownload {
    /// Fetches a file whole, as documented web services have it, and returns the part of it that is missing.
    private func fetchWhole(_ range: Range<Int64>, from url: URL) async throws(CallFailure) -> [UInt8] {
        let answer = try await requests.send(.get, url, headers: [:])
        guard answer.status == 200, answer.body.count <= length else {
            throw .assetDamaged("The cloud sent other bytes of the file than were asked for")
        }
        // Cut short on the way.
        guard answer.body.count == length else { throw .transport(.connectionLost) }
        return Array(answer.body[Int(range.lowerBound)...])
    }
}

extension AssetRequests {
    /// - Throws: `CallFailure.cancelled`.
    func pause(_ delay: Duration) async throws(CallFailure) {
        do {
            try await cloud.clientEnvironment.sleep(delay)
        } catch {
            throw .cancelled
        }
    }
}
