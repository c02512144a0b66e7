import CloudKitModel
import CloudKitServer
import CloudKitWire
import HTTPTypes
import NIOCore

/// The endpoint at the URLs that `assets/upload` returns (docs/web-services.md §7). The URL is the permission: no
/// token, no signature, any content type.
///
/// - `POST` has the whole file as its body, alone or as a part of `multipart/form-data`, within 15 minutes of the ticket. Answer 200: `{"singleFile":
///   {"fileChecksum", "size", "receipt"}}`; the dictionary, with the client's `wrappingKey` and `referenceChecksum`
///   added where it has some, is the value of the record's field.
/// - An addition to web services: `PATCH` has a piece. `Upload-Offset` is its position in the file, `Upload-Length` the
///   length of the whole file; both in bytes. Answer 204 with the `Upload-Offset` reached, durable; the piece with
///   which the file is complete is answered like a `POST`. Bytes that are there already are skipped: a piece may be
///   repeated, also the last one or an empty one at the end, which returns the answer again. A piece beyond the end is
///   409 `CONFLICT` with the `Upload-Offset` to continue from. The first piece has to arrive within 15 minutes of the
///   ticket, the last within 24 hours.
/// - `HEAD` answers 204 with `Upload-Offset`, and `Upload-Complete: ?1` or `?0`.
///
/// Errors are error objects: 403 `ACCESS_DENIED` for a URL that is not ours or too old (request another one); 400
/// `BAD_REQUEST` (native code `sizeLimitExceeded`) for a file that is too large; 413 `QUOTA_EXCEEDED`; 503
/// `TRY_AGAIN_LATER` with `Retry-After` when the disk is full; and the faults that an operator ordered for the user who
/// got the URL.
struct AssetUploadEndpoint {
    var cloud: Cloud
    var files: OpenFileLimiter
    var metrics: RequestMetrics

    /// Bytes that are passed to the store at once; about what one upload keeps in memory.
    private static let chunkBytes = 1 << 20

    func upload(_ request: IncomingRequest) async throws -> EndpointResponse {
        let upload = try OpenAssetUpload(cloud).run(String(request.endpoint?.parameter ?? ""))
        try await cloud.faults.check(upload.bearer)
        switch request.method {
        case .head:
            let (offset, isComplete) = try await upload.progress()
            var response = Self.progressResponse(offset)
            response.headers[HeaderName.uploadComplete] = isComplete ? "?1" : "?0"
            return response
        case .post:
            let envelope = try MultipartFileBody(contentType: request.headers[.contentType])
            let permission = try files.permission()
            defer { withExtendedLifetime(permission) {} }
            let announced = envelope == nil ? request.announcedBytes.map(Int64.init) : nil
            let reception = try await upload.receiveWhole(announced: announced)
            return try await receiveWhole(reception, from: request, in: envelope)
        default:
            guard let offset = Self.number(request.headers[HeaderName.uploadOffset]),
                let length = Self.number(request.headers[HeaderName.uploadLength])
            else {
                throw RequestFailure(.badRequest, "Upload-Offset and Upload-Length are needed, in bytes")
            }
            let permission = try files.permission()
            defer { withExtendedLifetime(permission) {} }
            do {
                let reception = try await upload.receivePiece(at: offset, of: length)
                return try await receivePiece(reception, from: request)
            } catch let failure as RequestFailure where failure.code == .conflict {
                var response = EndpointResponse(failure: failure, of: request)
                response.headers[HeaderName.uploadOffset] = String(try await upload.progress().offset)
                return response
            }
        }
    }

    private func receiveWhole(
        _ begun: AssetReceiver, from request: IncomingRequest, in envelope: MultipartFileBody?
    ) async throws -> EndpointResponse {
        var reception = begun
        do {
            try await receive(&reception, from: request, in: envelope)
        } catch {
            try? await reception.abandon()
            throw error
        }
        return try await finish(&reception)
    }

    private func receivePiece(
        _ begun: AssetReceiver, from request: IncomingRequest
    ) async throws -> EndpointResponse {
        var reception = begun
        do {
            try await receive(&reception, from: request)
        } catch {
            // The client need not send again what arrived before the connection broke.
            try? await reception.pause()
            throw error
        }
        if reception.isComplete { return try await finish(&reception) }
        try await reception.pause()
        return Self.progressResponse(reception.held)
    }

    private func finish(_ reception: inout AssetReceiver) async throws -> EndpointResponse {
        let asset = try await reception.finish()
        metrics.assetUploaded()
        return EndpointResponse(body: asset.wireUploadAnswer(), itemsOut: 1)
    }

    /// Passes the body on as it arrives; the client waits while the store does not keep up.
    ///
    /// - Throws: `badRequest` for a body that broke off; the bytes before have been passed on.
    private func receive(
        _ reception: inout AssetReceiver, from request: IncomingRequest, in envelope: MultipartFileBody? = nil
    ) async throws {
        var envelope = envelope
        let received = TransferredByteCount()
        request.connection.bodyBegan()
        defer {
            request.connection.bodyEnded()
            request.bytesIn = received.value
            metrics.assetBytesReceived(received.value)
        }
        var body = request.incomingBody.makeAsyncIterator()
        var chunk: [UInt8] = []
        chunk.reserveCapacity(min(request.announcedBytes ?? .max, 2 * Self.chunkBytes))
        var failure: (any Error)?
        do {
            while let part = try await body.next() {
                received.add(part.readableBytes)
                request.connection.bodyReceived(part.readableBytes)
                chunk.append(contentsOf: part.readableBytesView)
                guard chunk.count >= Self.chunkBytes else { continue }
                try await reception.receive(envelope?.take(chunk) ?? chunk)
                chunk.removeAll(keepingCapacity: true)
            }
        } catch let error where error is RequestFailure || RequestFailure(storage: error) != nil {
            throw error
        } catch {
            failure = error
        }
        try await reception.receive(envelope?.take(chunk) ?? chunk)
        try Task.checkCancellation()
        if let failure = failure as? SlowBodyError { throw failure }
        guard failure == nil, received.value >= request.announcedBytes ?? 0 else {
            throw RequestFailure(.badRequest, "the request's body did not arrive")
        }
        request.isBodyRead = true
        try envelope?.finish()
    }

    private static func progressResponse(_ offset: Int64) -> EndpointResponse {
        EndpointResponse(
            status: .noContent, body: [],
            headers: [HeaderName.uploadOffset: String(offset), .cacheControl: "no-store"])
    }

    private static func number(_ header: String?) -> Int64? {
        header.flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
    }
}
