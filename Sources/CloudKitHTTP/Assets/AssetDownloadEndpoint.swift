import CloudKitModel
import CloudKitServer
import HTTPTypes
import NIOCore

/// The endpoint at the `downloadURL` of an asset (docs/web-services.md §7). The URL is the permission, for some hours.
///
/// `GET` and `HEAD`; `Range` with one range, `If-Range`, `If-None-Match` with the `ETag`, which is the asset's
/// `fileChecksum`. The file is sent as an attachment that no browser renders, sniffs or runs.
///
/// An addition to web services: a `GET` with `X-Welkin-Direct-Download: yes` may be answered 307 with the `Location` of the file at
/// the object store itself, good for some minutes, where the operator has named an address of it for devices. A client that does
/// not get it there asks again without the header.
///
/// Errors are error objects: 403 `ACCESS_DENIED` for a URL that is not ours or too old (fetch the record again); 404
/// `NOT_FOUND` (native code `assetNotAvailable`) when the file is gone.
struct AssetDownloadEndpoint {
    var cloud: Cloud
    var files: OpenFileLimiter
    var metrics: RequestMetrics

    func download(_ request: IncomingRequest) async throws -> EndpointResponse {
        try await download(request, token: String(request.endpoint?.parameter ?? ""))
    }

    /// Returns the response with the file of a token.
    func download(_ request: IncomingRequest, token: String) async throws -> EndpointResponse {
        let permission = try files.permission()
        let file = try await OpenAssetDownload(cloud).run(token)
        if request.method == .get, request.headers[HeaderName.directDownload] == "yes", let url = file.directURL {
            return EndpointResponse(
                status: .temporaryRedirect, body: [], headers: [.location: url, .cacheControl: "no-store"])
        }
        let tag = "\"\(file.fileChecksum)\""
        var headers: HTTPFields = [
            .eTag: tag, .acceptRanges: "bytes", .contentType: "application/octet-stream",
            .contentDisposition: "attachment", .xContentTypeOptions: "nosniff",
            .contentSecurityPolicy: "sandbox; default-src 'none'; frame-ancestors 'none'",
            .cacheControl: "private, max-age=3600, immutable",
        ]
        if let known = request.headers[.ifNoneMatch], known == "*" || known.contains(tag) {
            return EndpointResponse(status: .notModified, body: [], headers: headers)
        }
        let isSame = request.headers[.ifRange].map { $0 == tag } ?? true
        switch ByteRange(isSame ? request.headers[.range] : nil, size: file.size) {
        case .whole:
            let body = body(0..<file.size, of: file, permission)
            return EndpointResponse(body: .file(body), headers: headers)
        case .part(let range):
            headers[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(file.size)"
            let body = body(range, of: file, permission)
            return EndpointResponse(status: .partialContent, body: .file(body), headers: headers)
        case .unsatisfiable:
            return EndpointResponse(
                status: .rangeNotSatisfiable, body: [], headers: [.contentRange: "bytes */\(file.size)"])
        }
    }

    /// Returns a body that reads and writes in turns; the store waits while the client does not keep up.
    private func body(
        _ range: Range<Int64>, of file: AssetFileReader, _ permission: OpenFileLimiter.Permission
    ) -> EndpointResponse.FileBody {
        EndpointResponse.FileBody(byteCount: range.count) { [metrics] writer, sent in
            defer {
                metrics.assetBytesSent(sent.value)
                withExtendedLifetime(permission) {}
            }
            // Ending early breaks the connection: the client must not take what it has for all.
            var pieces = file.pieces(of: range)
            defer { pieces.cancel() }
            while let bytes = try await pieces.next() {
                try await writer.write(ByteBuffer(bytes: bytes))
                sent.add(bytes.count)
            }
            try await writer.finish(nil)
        }
    }
}
