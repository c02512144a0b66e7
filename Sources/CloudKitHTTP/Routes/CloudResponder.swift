import CloudKitLogs
import HTTPTypes
import HummingbirdCore
import NIOCore

/// Responds to every request: by the table of endpoints, with the report and the error objects around it.
///
/// A class: copies of what it holds made up half of the memory of a waiting request.
final class CloudResponder: Sendable {
    private let configuration: CloudConfiguration
    private let limiter: ChannelLimiter
    private let bodyReader: BodyReader
    private let draining: Draining
    private let handler: RequestHandler
    /// Milliseconds since 1970.
    private let now: @Sendable () -> Int64

    init(
        configuration: CloudConfiguration, limiter: ChannelLimiter, bodyReader: BodyReader,
        now: @escaping @Sendable () -> Int64, draining: Draining, handler: @escaping RequestHandler
    ) {
        self.now = now
        self.draining = draining
        self.configuration = configuration
        self.limiter = limiter
        self.bodyReader = bodyReader
        self.handler = handler
    }

    /// What a request gets.
    enum Reply {
        case response(Response)
        /// Nothing yet: the request is handed over again once its wait has ended.
        case waits(WaitingRequest)
    }

    /// Responds to a request.
    ///
    /// - Parameter waiting: What the request has waited for; nil for one that has just arrived.
    func respond(
        to request: Request, on channel: any Channel, continuing waiting: WaitingRequest? = nil
    ) async throws -> Reply {
        let connection = limiter.connection(of: channel)
        if waiting == nil { connection.requestBegan() }
        let incoming = IncomingRequest(
            request, id: waiting?.id ?? LogID(milliseconds: now()), start: waiting?.start ?? .now, on: channel,
            connection: connection, configuration: configuration)
        incoming.poll = waiting?.poll
        defer { bodyReader.release(incoming) }
        do {
            let response = try await handler(incoming)
            if draining.hasBegun || bodyReader.closesConnection(after: incoming) {
                incoming.responseHeaders[.connection] = "close"
            }
            return .response(Response(response, to: incoming, minimumRate: configuration.minimumTransferRate))
        } catch let pending as PendingNotifications {
            return .waits(WaitingRequest(id: incoming.id, start: incoming.start, pending))
        } catch {
            connection.requestEnded(leavesBody: incoming.leavesBody)
            throw error
        }
    }
}

extension Response {
    fileprivate init(
        _ response: EndpointResponse, to request: IncomingRequest, minimumRate: MinimumTransferRate
    ) {
        var headers = request.responseHeaders
        for field in response.headers {
            // Those that every response has are of other names, mostly.
            if headers.contains(where: { $0.name == field.name }) {
                headers[field.name] = field.value
            } else {
                headers.append(field)
            }
        }
        if !headers.contains(where: { $0.name == .contentType }) {
            headers.append(HTTPField(name: .contentType, value: response.contentType))
        }
        // Without content there is no length either (RFC 9110 §8.6).
        if response.status != .noContent, response.status != .notModified {
            headers.append(HTTPField(name: .contentLength, value: String(response.body.byteCount)))
        }
        let isSentInPieces = response.isSentInPieces && request.method != .head
        let body =
            request.method == .head
            ? ResponseBody(byteBuffer: ByteBuffer())
            : ResponseBody(response, to: request)
        // What is sent in pieces ends the request once it has been sent. Its time begins here: already the head waits for a client that
        // does not read.
        if isSentInPieces {
            request.connection.answerBegan(bytesMin: response.bytesMin(at: minimumRate))
        } else {
            request.connection.requestEnded(leavesBody: request.leavesBody)
        }
        self.init(status: response.status, headers: headers, body: body)
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
