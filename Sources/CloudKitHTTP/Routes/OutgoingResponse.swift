import HTTPTypes
import HummingbirdCore
import NIOCore

/// A response as its connection sends it.
package struct OutgoingResponse: Sendable {
    let head: ResponseHead
    /// The body.
    package let body: ResponseBody

    /// The status.
    package var status: HTTPResponse.Status { head.status }
    /// The header fields but length and date.
    package var headers: HTTPFields { head.headers }

    /// Creates a response without content.
    init(status: HTTPResponse.Status) {
        head = ResponseHead(status: status)
        body = ResponseBody(byteBuffer: ByteBuffer())
    }

    /// Creates the response of an endpoint to a request, with the headers that every response has.
    ///
    /// It ends the request for its connection, or makes the last piece of the body do so.
    init(_ response: EndpointResponse, to request: IncomingRequest, minimumRate: MinimumTransferRate) {
        var fields = request.takeResponseHeaders()
        for field in response.headers {
            // Those that every response has are of other names, mostly.
            if fields.contains(where: { $0.name == field.name }) {
                fields[field.name] = field.value
            } else {
                fields.append(field)
            }
        }
        let isHead = request.method == .head
        let isSentInPieces = !isHead && response.isSentInPieces
        head = ResponseHead(
            status: response.status, requestUUID: request.uuid,
            contentType: fields.contains(where: { $0.name == .contentType }) ? nil : response.contentType,
            contentLength: isHead || isSentInPieces ? response.body.byteCount : nil, fields: fields)
        body = isHead ? ResponseBody(byteBuffer: ByteBuffer()) : ResponseBody(response, to: request)
        // What is sent in pieces ends the request once it has been sent. Its time begins here: already the head waits for a client that
        // does not read.
        if isSentInPieces {
            request.connection.answerBegan(bytesMin: response.bytesMin(at: minimumRate))
        } else {
            request.connection.requestEnded(leavesBody: request.leavesBody)
        }
    }
}

extension ResponseBody {
    fileprivate init(_ response: EndpointResponse, to request: IncomingRequest) {
        let connection = request.connection
        let leavesBody = request.leavesBody
        switch response.body {
        case .bytes(let bytes) where bytes.count > AnswerBody.pieceBytes:
            let answer = AnswerBody(bytes: bytes, reservation: response.reservation, connection: connection)
            self.init(contentLength: bytes.count) { writer in
                defer { connection.requestEnded(leavesBody: leavesBody) }
                try await answer.write(to: &writer)
            }
        case .bytes(let bytes): self.init(byteBuffer: ByteBuffer(bytes: bytes))
        case .file(let file):
            self.init(contentLength: file.byteCount) { [onFileSent = response.onFileSent] writer in
                let sent = TransferredByteCount { connection.answerSent($0) }
                defer {
                    onFileSent?(sent.value)
                    connection.requestEnded(leavesBody: leavesBody)
                }
                try await file.write(&writer, sent)
            }
        }
    }
}

extension EndpointResponse {
    /// A Boolean value that indicates whether the body is sent while the connection takes it.
    fileprivate var isSentInPieces: Bool {
        switch body {
        case .bytes(let bytes): bytes.count > AnswerBody.pieceBytes
        case .file: true
        }
    }

    /// Returns the bytes of the body that its connection has to take in each interval.
    fileprivate func bytesMin(at rate: MinimumTransferRate) -> Int {
        switch body {
        case .bytes(let bytes): AnswerBody.bytesMin(of: bytes.count, at: rate)
        case .file: rate.bytesMin
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
