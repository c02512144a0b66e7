import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1

/// Serves HTTP/1.1 on a connection: a task answers one request after the other.
///
/// In place of the framework's own channel, whose sequences of parts cost more than finding a record does.
struct RequestChannel: ServerChildChannel {
    /// A connection with its requests.
    struct Value: ServerChildChannelValue {
        let channel: any Channel
        fileprivate let requests: ConnectionRequests
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
            // A connection keeps the memory of as many reads as may follow one another.
            try channel.syncOptions?.setOption(.maxMessagesPerRead, value: 1)
            try channel.syncOptions?.setOption(.recvAllocator, value: ReceiveBufferSizes())
            let pipeline = channel.pipeline.syncOperations
            var limits = NIOHTTPDecoderLimitConfiguration()
            limits.maxHeaderListSize = Self.headBytesMax
            limits.maxHeaderFieldCount = Self.headerFieldsMax
            try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder(limitConfiguration: limits)))
            try pipeline.addHandler(ConnectionCounter(metrics: metrics))
            let requests = ConnectionRequests()
            try pipeline.addHandler(
                RequestChannelHandler(requests: requests, responder: responder, date: date))
            return Value(channel: channel, requests: requests)
        }
    }

    func handle(value: Value, logger: Logger) async {
        await withTaskCancellationHandler {
            await value.requests.waitUntilEnded()
            if Task.isCancelled { value.channel.close(promise: nil) }
            try? await value.channel.closeFuture.get()
        } onCancel: {
            value.requests.cancel()
        }
    }
}
