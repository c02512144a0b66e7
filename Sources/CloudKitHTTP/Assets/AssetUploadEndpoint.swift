import CloudKitModel
import CloudKitServer
import CloudKitWire
import HTTPTypes
import Hummingbird
import NIOCore

/// Takes files, at the URLs that `assets/upload` gives (web-services.md §7). The URL is the permission: no token, no
/// signature, any content type.
///
/// - `POST` brings the whole file as the body, within 15 minutes of the ticket. Answer 200:
///   `{"singleFile": {"fileChecksum", "size", "receipt"}}`; the dictionary, with the client's `wrappingKey` and
///   `referenceChecksum` added where it has some, is the value of the record's field.
/// - An addition to web services: `PATCH` brings a piece. `Upload-Offset` says where in the file it begins, `Upload-Length`
///   how long the whole file will be; both in bytes. Answer 204 with the `Upload-Offset` reached, durable; the
///   piece with which the file is complete is answered like a `POST`. What is there already is passed over: a piece may be
///   repeated, also the last one or an empty one at the end, which gives the answer again. A piece beyond what is there is
///   409 `CONFLICT` with the `Upload-Offset` to go on from. The first piece has to come within 15 minutes of the ticket,
///   the last within 24 hours.
/// - `HEAD` answers 204 with `Upload-Offset`, and `Upload-Complete: ?1` or `?0`.
///
/// Errors are error objects: 403 `ACCESS_DENIED` for a URL that is not ours or too old (ask for another one); 400
/// `BAD_REQUEST` (native code `sizeLimitExceeded`) for a file that is too large; 413 `QUOTA_EXCEEDED`; 503
/// `TRY_AGAIN_LATER` with `Retry-After` when the disk is full; and the faults that strike whom the URL was given to.
struct AssetUploadEndpoint {
    var cloud: Cloud
    var pace: TransferPace
    var metrics: RequestMetrics

    /// Bytes that are handed to the store at once; about what one upload keeps in memory.
    private static let chunkBytes = 262_144

    func answer(
        _ token: String, _ exchange: Exchange, _ request: Request, _ channel: any Channel, _ report: inout RequestReport
    ) async throws -> Answer {
        let upload = try OpenAssetUpload(cloud).run(token)
        try await cloud.faults.check(upload.bearer)
        switch exchange.method {
        case .head:
            let (offset, isComplete) = try await upload.progress()
            var answer = Self.progressAnswer(offset)
            answer.headers[HeaderName.uploadComplete] = isComplete ? "?1" : "?0"
            return answer
        case .post:
            let reception = try await upload.receiveWhole(announced: exchange.announcedBytes.map(Int64.init))
            return try await whole(reception, exchange, request, channel, &report)
        default:
            guard let offset = Self.number(request, HeaderName.uploadOffset),
                let length = Self.number(request, HeaderName.uploadLength)
            else {
                throw RequestFailure(.badRequest, "Upload-Offset and Upload-Length are needed, in bytes")
            }
            do {
                let reception = try await upload.receivePiece(at: offset, of: length)
                return try await piece(reception, exchange, request, channel, &report)
            } catch let failure as RequestFailure where failure.code == .conflict {
                var answer = Answer(failure: failure, exchange, uuid: report.uuid)
                answer.headers[HeaderName.uploadOffset] = String(try await upload.progress().offset)
                return answer
            }
        }
    }

    private func whole(
        _ begun: AssetReceiver, _ exchange: Exchange, _ request: Request, _ channel: any Channel,
        _ report: inout RequestReport
    ) async throws -> Answer {
        var reception = begun
        do {
            try await receive(&reception, exchange, request, channel, &report)
        } catch {
            try? await reception.abandon()
            throw error
        }
        return try await finished(&reception)
    }

    private func piece(
        _ begun: AssetReceiver, _ exchange: Exchange, _ request: Request, _ channel: any Channel,
        _ report: inout RequestReport
    ) async throws -> Answer {
        var reception = begun
        do {
            try await receive(&reception, exchange, request, channel, &report)
        } catch {
            // What came before the connection broke need not come again.
            try? await reception.pause()
            throw error
        }
        if reception.isComplete { return try await finished(&reception) }
        try await reception.pause()
        return Self.progressAnswer(reception.held)
    }

    private func finished(_ reception: inout AssetReceiver) async throws -> Answer {
        let asset = try await reception.finish()
        metrics.assetUploaded()
        return Answer(body: asset.wireUploadAnswer(), itemsOut: 1)
    }

    /// Hands the body on as it comes; the client waits while the store does not keep up.
    ///
    /// - Throws: `badRequest` for a body that broke off; what came of it has been handed on.
    private func receive(
        _ reception: inout AssetReceiver, _ exchange: Exchange, _ request: Request, _ channel: any Channel,
        _ report: inout RequestReport
    ) async throws {
        let progress = TransferProgress()
        async let _: Void = pace.watch(progress, channel)
        defer {
            report.bytesIn = progress.count
            metrics.assetBytesReceived(progress.count)
        }
        var body = request.body.makeAsyncIterator()
        var chunk: [UInt8] = []
        chunk.reserveCapacity(2 * Self.chunkBytes)
        var isBroken = false
        do {
            while let part = try await body.next() {
                progress.add(part.readableBytes)
                chunk.append(contentsOf: part.readableBytesView)
                guard chunk.count >= Self.chunkBytes else { continue }
                try await reception.receive(chunk)
                chunk.removeAll(keepingCapacity: true)
            }
        } catch let error where error is RequestFailure || RequestFailure(storage: error) != nil {
            throw error
        } catch {
            isBroken = true
        }
        try await reception.receive(chunk)
        try Task.checkCancellation()
        guard !isBroken, progress.count >= exchange.announcedBytes ?? 0 else {
            throw RequestFailure(.badRequest, "the request's body did not arrive")
        }
    }

    private static func progressAnswer(_ offset: Int64) -> Answer {
        Answer(
            status: .noContent, body: [],
            headers: [HeaderName.uploadOffset: String(offset), .cacheControl: "no-store"])
    }

    private static func number(_ request: Request, _ name: HTTPField.Name) -> Int64? {
        request.headers[name].flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
    }
}
