import CloudKitModel
import CloudKitWire
import Foundation

/// Reports the progress of a transfer: the index of the item and a fraction from 0 to 1.
package typealias AssetProgress = @Sendable (Int, Double) async -> Void

/// Sends one file in pieces; after a broken connection it continues with the bytes that the cloud lacks.
///
/// Each piece is sent with `PATCH`, with its offset in `Upload-Offset` and the length of the whole file in
/// `Upload-Length`; the answer to `HEAD` has the number of bytes received. The piece that completes the file is
/// answered as docs/web-services.md §7 says.
struct PiecewiseUpload: Sendable {
    let requests: AssetRequests
    let url: URL
    var pieceBytes = PieceSizing.pieceBytesDefault

    /// The result of an upload.
    enum End: Sendable {
        case uploaded(AssetValue)
        /// The cloud has lost the bytes it had, or no longer knows the URL: start again.
        case lost(CallFailure)
    }

    /// - Parameter sent: Gets the bytes that the cloud has.
    func run(_ bytes: OutgoingBytes, sent: (Int64) async -> Void) async throws(CallFailure) -> End {
        guard requests.cloud.surface.isNative else { return try await runWhole(bytes, sent: sent) }
        var pace = PieceSizing(pieceBytes: pieceBytes, retries: requests.settings.transferRetries)
        var offset: Int64 = 0
        var piece = try await next(bytes, at: offset, wanted: pace.pieceBytes)
        // The piece after it, which is read and sealed while that one is sent.
        var ahead: Result<[UInt8], CallFailure>?
        var isInDoubt = false
        while true {
            do throws(CallFailure) {
                if isInDoubt {
                    // The piece in memory is all that can be sent again.
                    let held = try await serverOffset()
                    guard held >= offset, held <= offset + Int64(piece.count) else {
                        return .lost(.answerMalformed(status: 200))
                    }
                    if held > offset { pace.advanced() }
                    piece.removeFirst(Int(held - offset))
                    offset = held
                    isInDoubt = false
                }
                let (end, wanted, known, sentPiece) = (offset + Int64(piece.count), pace.pieceBytes, ahead, piece)
                async let following = nextPiece(known, of: bytes, at: end, wanted: wanted)
                let answer: Result<TransportResponse, CallFailure>
                do throws(CallFailure) {
                    answer = .success(try await send(sentPiece, at: offset, of: bytes.length))
                } catch {
                    answer = .failure(error)
                }
                ahead = await following
                let response = try answer.get()
                if end == bytes.length { return try await self.end(of: bytes, response, sent: sent) }
                pace.advanced()
                offset = end
                await sent(offset)
                piece = try ahead.take()?.get() ?? []
            } catch {
                if case .refused(let refusal) = error, refusal.code.concernsUploadURL { return .lost(error) }
                try await pause(after: error, &pace)
                isInDoubt = true
            }
        }
    }

    /// Sends the file with one `POST`, as documented web services have it.
    private func runWhole(
        _ bytes: OutgoingBytes, sent: (Int64) async -> Void
    ) async throws(CallFailure) -> End {
        guard bytes.length <= Self.wholeBytesMax else {
            throw .beyondWebServices("Web services take files of at most 50 MiB")
        }
        var whole: [UInt8] = []
        whole.reserveCapacity(Int(bytes.length))
        while whole.count < bytes.length {
            let piece = try await bytes.next(Int(bytes.length) - whole.count)
            guard !piece.isEmpty else { break }
            whole += piece
        }
        guard whole.count == bytes.length else {
            throw .assetFileModified("The asset's file changed while it was sent")
        }
        try bytes.checkWhole()
        var pace = PieceSizing(pieceBytes: pieceBytes, retries: requests.settings.transferRetries)
        while true {
            do throws(CallFailure) {
                let answer = try await requests.send(
                    .post, url, headers: ["Content-Type": "application/octet-stream"], body: whole)
                return try await end(of: bytes, answer, sent: sent)
            } catch {
                if case .refused(let refusal) = error, refusal.code.concernsUploadURL { return .lost(error) }
                try await pause(after: error, &pace)
            }
        }
    }

    /// Returns the result of an upload by the answer to its last piece.
    private func end(
        of bytes: OutgoingBytes, _ answer: TransportResponse, sent: (Int64) async -> Void
    ) async throws(CallFailure) -> End {
        let value = try read(answer)
        guard value.size == bytes.length, value.fileChecksum == bytes.checksum else {
            return .lost(.assetDamaged("The cloud received other bytes than were sent"))
        }
        await sent(bytes.length)
        return .uploaded(value)
    }

    /// Waits until the next attempt.
    ///
    /// - Throws: The failure, when there is no further attempt.
    private func pause(after failure: CallFailure, _ pace: inout PieceSizing) async throws(CallFailure) {
        guard let delay = pace.delay(after: failure, of: requests.cloud) else { throw failure }
        try await requests.pause(delay)
    }

    /// The largest file that web services take (B-LIM-10).
    private static let wholeBytesMax: Int64 = 50 * 1_048_576

    /// Returns the next piece of a file, or why it cannot be read; no bytes at the end.
    ///
    /// - Parameter known: The piece, if it was read before.
    private func nextPiece(
        _ known: Result<[UInt8], CallFailure>?, of bytes: OutgoingBytes, at offset: Int64, wanted: Int
    ) async -> Result<[UInt8], CallFailure> {
        if let known { return known }
        if offset == bytes.length { return .success([]) }
        do throws(CallFailure) {
            return .success(try await next(bytes, at: offset, wanted: wanted))
        } catch {
            return .failure(error)
        }
    }

    private func next(
        _ bytes: OutgoingBytes, at offset: Int64, wanted: Int
    ) async throws(CallFailure) -> [UInt8] {
        let piece = try await bytes.next(wanted)
        let end = offset + Int64(piece.count)
        guard end <= bytes.length, !piece.isEmpty || end == bytes.length else {
            throw .assetFileModified("The asset's file changed while it was sent")
        }
        if end == bytes.length { try bytes.checkWhole() }
        return piece
    }

    private func send(
        _ piece: [UInt8], at offset: Int64, of length: Int64
    ) async throws(CallFailure) -> TransportResponse {
        try await requests.send(
            .patch, url,
            headers: [
                "Content-Type": "application/offset+octet-stream", "Upload-Offset": String(offset),
                "Upload-Length": String(length),
            ], body: piece)
    }

    private func serverOffset() async throws(CallFailure) -> Int64 {
        let answer = try await requests.send(.head, url, headers: [:])
        guard let offset = answer.headers["upload-offset"].flatMap(Int64.init), offset >= 0 else {
            throw .answerMalformed(status: answer.status)
        }
        return offset
    }

    private func read(_ answer: TransportResponse) throws(CallFailure) -> AssetValue {
        do {
            return try AssetValue(wireUploadAnswer: answer.body)
        } catch {
            // Cut short on the way, or not the cloud's: it will say again.
            throw .transport(.answerLost)
        }
    }
}

extension RequestFailure.Code {
    /// A Boolean value that indicates whether the URL of the file is no longer valid, so that another one may help.
    var concernsUploadURL: Bool {
        switch self {
        case .endpointNotFound, .itemNotFound, .assetNotAvailable, .accessDenied, .authenticationFailed, .conflict:
            true
        default: false
        }
    }
}
