import HummingbirdCore
import NIOCore
import NIOHTTP1

/// Hands the requests of one connection to its task, one after the other, and writes their responses.
///
/// A request that arrives at once, as most do, is handed over as a whole.
final class RequestChannelHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum Phase {
        /// Waits for a request.
        case idle
        /// The head has arrived, and the body so far; the rest may be among the bytes that are being read.
        case beginning(HTTPRequestHead, ByteBuffer?)
        /// A request is being answered whose body is arriving.
        case receiving(BodyStream)
        /// A request is being answered that has arrived.
        case answering
        /// A request was answered before its body had arrived.
        case discarding
        /// No further request is answered.
        case ended
    }

    private let requests: ConnectionRequests
    private let responder: CloudResponder
    private let date: ResponseDate
    private var phase = Phase.idle
    /// What has arrived of further requests while one is being answered.
    private var waiting: [HTTPServerRequestPart] = []
    /// Whether the connection ends with the response under way.
    private var closesAfterResponse = false
    /// Whether nothing more arrives behind what is waiting, and whether what arrived there is no request.
    private var (isInputEnded, isMalformed) = (false, false)
    /// Whether the server stops, and waits for its connections.
    private var isStopping = false
    private var context: ChannelHandlerContext?
    private var isReadingPaused = false
    private var hasReadPending = false

    /// Parts of further requests that wait; beyond that the connection is not read.
    private static let waitingMax = 8
    /// Bytes of most heads.
    private static let headBytes = 512
    /// Bodies up to so many bytes are copied behind their head, so that both leave together.
    private static let joinedBytesMax = 16_384

    init(requests: ConnectionRequests, responder: CloudResponder, date: ResponseDate) {
        self.requests = requests
        self.responder = responder
        self.date = date
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        requests.close()
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        take(unwrapInboundIn(data), context)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        handOverBeginning(context)
        context.fireChannelReadComplete()
    }

    private func take(_ part: HTTPServerRequestPart, _ context: ChannelHandlerContext) {
        switch (phase, part) {
        case (.idle, .head(let head)): phase = .beginning(head, nil)
        case (.beginning(let head, nil), .body(let part)): phase = .beginning(head, part)
        case (.beginning(let head, var body?), .body(let part)):
            phase = .idle  // so that joining need not copy
            body.writeImmutableBuffer(part)
            phase = .beginning(head, body)
        case (.beginning(let head, let body), .end):
            phase = .answering
            handOver(head, RequestBody(buffer: body ?? ByteBuffer()), context)
        case (.receiving(let stream), .body(let part)):
            if !stream.add(part) { isReadingPaused = true }
        case (.receiving(let stream), .end):
            stream.finish()
            phase = .answering
        case (.answering, _):
            waiting.append(part)
            if waiting.count >= Self.waitingMax { isReadingPaused = true }
        case (.discarding, .end): phase = .idle
        case (.idle, _), (.beginning, .head), (.receiving, .head), (.discarding, _), (.ended, _): break
        }
    }

    /// Hands over a request of which not all has arrived.
    private func handOverBeginning(_ context: ChannelHandlerContext) {
        guard case .beginning(let head, let body) = phase else { return }
        let loop = context.eventLoop
        let handler = NIOLoopBound(self, eventLoop: loop)
        let stream = BodyStream { loop.execute { handler.value.readOn() } }
        phase = .receiving(stream)
        if let body, !stream.add(body) { isReadingPaused = true }
        handOver(head, stream.body, context)
    }

    private func handOver(_ head: HTTPRequestHead, _ body: RequestBody, _ context: ChannelHandlerContext) {
        if !head.isKeepAlive { closesAfterResponse = true }
        guard let request = RequestHead(head) else { return refuse(context) }
        requests.add(ConnectionRequests.Item(head: request, body: body)) {
            ConnectionTask(
                responder: responder, channel: context.channel, requests: requests,
                handler: NIOLoopBound(self, eventLoop: context.eventLoop)
            ).start()
        }
    }

    // MARK: Reading

    func read(context: ChannelHandlerContext) {
        if isReadingPaused { hasReadPending = true } else { context.read() }
    }

    private func readOn() {
        guard isReadingPaused else { return }
        isReadingPaused = false
        guard hasReadPending else { return }
        hasReadPending = false
        context?.read()
    }

    // MARK: Responses

    /// Writes a response as a whole.
    func send(_ head: ResponseHead, _ body: ByteBuffer?) {
        guard let context else { return }
        let byteCount = body?.readableBytes ?? 0
        let isJoined = byteCount <= Self.joinedBytesMax
        var buffer = context.channel.allocator.buffer(capacity: Self.headBytes + (isJoined ? byteCount : 0))
        head.write(to: &buffer, byteCount: byteCount, date: date.text)
        if let body, isJoined { buffer.writeImmutableBuffer(body) }
        context.write(wrapOutboundOut(buffer), promise: nil)
        if let body, !isJoined { context.write(wrapOutboundOut(body), promise: nil) }
        context.flush()
        finish(context)
    }

    /// Writes the beginning of a response whose head names its length.
    func send(_ head: ResponseHead) {
        guard let context else { return }
        var buffer = context.channel.allocator.buffer(capacity: Self.headBytes)
        head.write(to: &buffer, byteCount: 0, date: date.text)
        context.write(wrapOutboundOut(buffer), promise: nil)
    }

    /// Writes a piece of a response's body.
    ///
    /// - Parameter promise: Succeeds once the connection has taken it.
    func send(_ piece: ByteBuffer, _ promise: EventLoopPromise<Void>) {
        guard let context else { return promise.fail(ChannelError.alreadyClosed) }
        context.writeAndFlush(wrapOutboundOut(piece), promise: promise)
    }

    /// Ends a response that was written in pieces, and goes on with the next request.
    func finish() {
        if let context { finish(context) }
    }

    private func finish(_ context: ChannelHandlerContext) {
        if closesAfterResponse { return end(context) }
        switch phase {
        case .receiving(let stream):
            // What is left of the body is dropped.
            stream.finish()
            phase = .discarding
        case .answering: phase = .idle
        case .idle, .beginning, .discarding, .ended: return
        }
        readOn()
        takeWaiting(context)
        endIfDone(context)
    }

    private func takeWaiting(_ context: ChannelHandlerContext) {
        if waiting.isEmpty { return }
        let parts = waiting
        waiting.removeAll(keepingCapacity: true)
        for part in parts { take(part, context) }
        handOverBeginning(context)
    }

    /// Ends the connection when nothing is left of a client that has ended its output or sent what is no request.
    private func endIfDone(_ context: ChannelHandlerContext) {
        guard isInputEnded || isMalformed else { return }
        switch phase {
        case .receiving(let stream):
            stream.fail(ChannelError.inputClosed)
            closesAfterResponse = true
        case .idle, .discarding: if isMalformed { refuse(context) } else { end(context) }
        case .beginning, .answering, .ended: break
        }
    }

    // MARK: End

    /// Ends the connection's output; the client ends the rest, or the limits of connections do.
    private func end(_ context: ChannelHandlerContext) {
        if case .receiving(let stream) = phase { stream.finish() }
        phase = .ended
        requests.close()
        context.close(mode: isStopping ? .all : .output, promise: nil)
        readOn()
    }

    /// Refuses what is no request.
    private func refuse(_ context: ChannelHandlerContext) {
        var buffer = context.channel.allocator.buffer(capacity: Self.headBytes)
        buffer.writeString("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
        end(context)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is ChannelShouldQuiesceEvent:
            isStopping = true
            switch phase {
            case .idle, .discarding, .ended: context.close(promise: nil)
            case .beginning, .receiving, .answering: closesAfterResponse = true
            }
        case ChannelEvent.inputClosed:
            isInputEnded = true
            switch phase {
            case .receiving, .answering: endIfDone(context)
            case .idle, .beginning, .discarding, .ended: context.close(promise: nil)
            }
        case is ConnectionRest: requests.rest()
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch phase {
        case .receiving(let stream):
            stream.fail(error)
            // The answer to a slow body can still be sent, and says that it is the last one.
            if error is HTTPParserError { closesAfterResponse = true }
            if !(error is HTTPParserError), !(error is SlowBodyError) { context.close(promise: nil) }
        case .answering where error is HTTPParserError: isMalformed = true
        case .idle where error is HTTPParserError, .beginning where error is HTTPParserError,
            .discarding where error is HTTPParserError:
            refuse(context)
        case .idle, .beginning, .answering, .discarding, .ended:
            if !(error is SlowBodyError) { context.close(promise: nil) }
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if case .receiving(let stream) = phase { stream.fail(ChannelError.inputClosed) }
        phase = .ended
        requests.close()
        context.fireChannelInactive()
    }
}
