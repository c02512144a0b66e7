import HTTPTypes
import Hummingbird
import NIOCore

/// Responds to every request: by the table of endpoints, with the report and the error objects around it.
///
/// A class: copies of what it holds made up half of the memory of a waiting request.
package final class CloudResponder: HTTPResponder {
    /// The connection of a request.
    package typealias Context = ConnectionContext

    private let configuration: CloudConfiguration
    private let handler: RequestHandler

    init(configuration: CloudConfiguration, handler: @escaping RequestHandler) {
        self.configuration = configuration
        self.handler = handler
    }

    /// Returns the response to a request.
    package func respond(to request: Request, context: ConnectionContext) async throws -> Response {
        let incoming = IncomingRequest(request, on: context.channel, configuration: configuration)
        return Response(try await handler(incoming), to: incoming, minimumRate: configuration.minimumTransferRate)
    }
}

extension Response {
    fileprivate init(
        _ response: EndpointResponse, to request: IncomingRequest, minimumRate: MinimumTransferRate
    ) {
        var headers = request.responseHeaders
        for field in response.headers { headers[field.name] = field.value }
        if headers[.contentType] == nil { headers[.contentType] = response.contentType }
        // Without content there is no length either (RFC 9110 §8.6).
        if response.status != .noContent, response.status != .notModified {
            headers[.contentLength] = String(response.body.byteCount)
        }
        let body =
            request.method == .head
            ? ResponseBody(byteBuffer: ByteBuffer())
            : ResponseBody(response, on: request.channel, minimumRate: minimumRate)
        self.init(status: response.status, headers: headers, body: body)
    }
}

extension ResponseBody {
    fileprivate init(_ response: EndpointResponse, on channel: any Channel, minimumRate: MinimumTransferRate) {
        switch response.body {
        case .bytes(let bytes) where bytes.count > AnswerBody.pieceBytes:
            let answer = AnswerBody(
                bytes: bytes, reservation: response.reservation, minimumRate: minimumRate, channel: channel)
            self.init(contentLength: bytes.count) { writer in try await answer.write(to: &writer) }
        case .bytes(let bytes): self.init(byteBuffer: ByteBuffer(bytes: bytes))
        case .file(let file):
            self.init(contentLength: file.byteCount) { [onFileSent = response.onFileSent] writer in
                let sent = TransferredByteCount()
                defer { onFileSent?(sent.value) }
                try await file.write(&writer, sent)
            }
        }
    }
}

extension EndpointResponse.Body {
    fileprivate var byteCount: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .file(let file): file.byteCount
        }
    }
}
