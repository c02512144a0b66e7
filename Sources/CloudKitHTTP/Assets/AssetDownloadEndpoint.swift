import CloudKitModel
import CloudKitServer
import HTTPTypes
import Hummingbird
import NIOCore

/// Gives files, at the `downloadURL` of an asset (web-services.md §7). The URL is the permission, for some hours.
///
/// `GET` and `HEAD`; `Range` with one range, `If-Range`, `If-None-Match` with the `ETag`, which is the asset's
/// `fileChecksum`. The file is sent as an attachment that no browser renders, sniffs or runs.
///
/// Errors are error objects: 403 `ACCESS_DENIED` for a URL that is not ours or too old (fetch the record again); 404
/// `NOT_FOUND` (native code `assetNotAvailable`) when the file is gone.
struct AssetDownloadEndpoint {
    var cloud: Cloud
    var pace: TransferPace

    /// What is to be sent of a file.
    struct Sending: Sendable {
        var file: AssetFileReader
        var range: Range<Int64>
        var status: HTTPResponse.Status
        var headers: HTTPFields
    }

    enum Outcome {
        case file(Sending)
        case answer(Answer)
    }

    /// Bytes that are read at once; about what one download keeps in memory.
    private static let chunkBytes = 262_144

    func outcome(_ token: String, _ request: Request) async throws -> Outcome {
        let file = try await OpenAssetDownload(cloud).run(token)
        let tag = "\"\(file.fileChecksum)\""
        let headers: HTTPFields = [
            .eTag: tag, .acceptRanges: "bytes", .contentType: "application/octet-stream",
            .contentDisposition: "attachment", .xContentTypeOptions: "nosniff",
            .contentSecurityPolicy: "sandbox; default-src 'none'; frame-ancestors 'none'",
            .cacheControl: "private, max-age=3600, immutable",
        ]
        if let known = request.headers[.ifNoneMatch], known == "*" || known.contains(tag) {
            return .answer(Answer(status: .notModified, body: [], headers: headers))
        }
        let isSame = request.headers[.ifRange].map { $0 == tag } ?? true
        switch ByteRange(isSame ? request.headers[.range] : nil, size: file.size) {
        case .whole:
            return .file(Sending(file: file, range: 0..<file.size, status: .ok, headers: headers))
        case .part(let range):
            var headers = headers
            headers[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(file.size)"
            return .file(Sending(file: file, range: range, status: .partialContent, headers: headers))
        case .unsatisfiable:
            return .answer(
                Answer(
                    status: .rangeNotSatisfiable, body: [], headers: [.contentRange: "bytes */\(file.size)"]))
        }
    }

    /// Reads and writes in turns; the store waits while the client does not keep up.
    ///
    /// - Parameter finished: Told how many bytes went out, also when the connection broke.
    func body(
        _ sending: Sending, _ channel: any Channel, finished: @escaping @Sendable (Int) -> Void
    ) -> ResponseBody {
        let pace = pace
        return ResponseBody(contentLength: sending.range.count) { writer in
            let progress = TransferProgress()
            defer { finished(progress.count) }
            async let _: Void = pace.watch(progress, channel)
            var offset = sending.range.lowerBound
            while offset < sending.range.upperBound {
                let count = Int(min(Int64(Self.chunkBytes), sending.range.upperBound - offset))
                let bytes = try await sending.file.read(at: offset, count: count)
                // Ending early breaks the connection: the client must not take what it has for all.
                guard !bytes.isEmpty else { throw RequestFailure(.assetNotAvailable, "the asset is not available") }
                try await writer.write(ByteBuffer(bytes: bytes))
                progress.add(bytes.count)
                offset += Int64(bytes.count)
            }
            try await writer.finish(nil)
        }
    }
}
