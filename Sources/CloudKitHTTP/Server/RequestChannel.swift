import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1

/// Serves HTTP/1.1 on a connection: a task of its own answers one request after the other.
///
/// In place of the framework's own channel, whose sequences of parts cost more than finding a record does.
struct RequestChannel: ServerChildChannel {
    /// A connection with its requests.
    struct Value: ServerChildChannelValue {
        let channel: any Channel
        fileprivate let queue: ConnectionRequests
        fileprivate let handler: NIOLoopBound<RequestChannelHandler>
    }

    private let responder: CloudResponder
    private let metrics: RequestMetrics
    private let date = ResponseDate()

    /// Bytes of all header fields of a request.
    private static let headBytesMax = 81_920
    private static let headerFieldsMax = 1000

    init(responder: CloudResponder, metrics: RequestMetrics) {
        self.responder = responder
        self.metrics = metrics
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            var limits = NIOHTTPDecoderLimitConfiguration()
            limits.maxHeaderListSize = Self.headBytesMax
            limits.maxHeaderFieldCount = Self.headerFieldsMax
            try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder(limitConfiguration: limits)))
            try pipeline.addHandler(ConnectionCounter(metrics: metrics))
            let queue = ConnectionRequests()
            let handler = RequestChannelHandler(queue: queue)
            try pipeline.addHandler(handler)
            return Value(
                channel: channel, queue: queue, handler: NIOLoopBound(handler, eventLoop: channel.eventLoop))
        }
    }

    func handle(value: Value, logger: Logger) async {
        await withTaskCancellationHandler {
            while let request = await value.queue.next() { await respond(to: request, on: value, logger) }
            if Task.isCancelled { value.channel.close(promise: nil) }
            try? await value.channel.closeFuture.get()
        } onCancel: {
            value.queue.close()
        }
    }

    private func respond(to request: ConnectionRequests.Item, on value: Value, _ logger: Logger) async {
        let context = ConnectionContext(source: .init(channel: value.channel, logger: logger))
        var response: Response
        do {
            response = try await responder.respond(
                to: Request(head: request.head, body: request.body), context: context)
        } catch {
            response = Response(status: .internalServerError)
        }
        let writer = ResponseWriting(
            head: ResponseHead(response.head, date: date.text), byteCount: response.body.contentLength,
            channel: value.channel,
            handler: value.handler)
        do {
            try await response.body.write(writer)
        } catch {
            // The connection has broken, or the file: the client must not take what it has for all of it.
            value.channel.close(promise: nil)
        }
    }
}

/// Writes a response: at once if its body is one piece, otherwise piece by piece as the connection takes them.
private struct ResponseWriting: ResponseBodyWriter {
    let head: ResponseHead
    /// The bytes of the body; nil where they are not known.
    let byteCount: Int?
    let channel: any Channel
    let handler: NIOLoopBound<RequestChannelHandler>
    private var whole: ByteBuffer?
    private var isHeadSent = false

    init(head: ResponseHead, byteCount: Int?, channel: any Channel, handler: NIOLoopBound<RequestChannelHandler>) {
        self.head = head
        self.byteCount = byteCount
        self.channel = channel
        self.handler = handler
    }

    mutating func write(_ buffer: ByteBuffer) async throws {
        if !isHeadSent, buffer.readableBytes == byteCount {
            whole = buffer
            return
        }
        let promise = channel.eventLoop.makePromise(of: Void.self)
        let head = isHeadSent ? nil : head
        isHeadSent = true
        channel.eventLoop.execute { [handler] in
            if let head { handler.value.send(head) }
            handler.value.send(buffer, promise)
        }
        try await promise.futureResult.get()
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
        if isHeadSent {
            channel.eventLoop.execute { [handler] in handler.value.finish() }
        } else {
            channel.eventLoop.execute { [handler, head, whole] in handler.value.send(head, whole) }
        }
    }
}
