import HTTPTypes
import HummingbirdCore
import NIOCore

/// The task of a connection: answers one request after the other.
///
/// It keeps the memory of its steps for the next request, so that it is one task as long as requests come. A request that waits for
/// notifications ends it, and so does a time without requests, since a task takes three times as much memory as the rest of a connection.
struct ConnectionTask: Sendable {
    let responder: CloudResponder
    let channel: any Channel
    let requests: ConnectionRequests
    let handler: NIOLoopBound<RequestChannelHandler>

    /// Begins the task.
    func start() -> Task<Void, Never> { Task { await run() } }

    private func run() async {
        // A client that has been told a notification waits for another one, for which no task is needed.
        var waitsForMore = true
        // A request ends with its turn of the loop, so that a connection keeps no body while it waits for the next one.
        while let request = waitsForMore ? await requests.next() : requests.last() {
            waitsForMore = await respond(to: request) && request.continued == nil
        }
    }

    /// Answers a request.
    ///
    /// - Returns: False for a request that waits: it is added again once it goes on.
    private func respond(to request: ConnectionRequests.Item) async -> Bool {
        let response: OutgoingResponse
        do {
            let reply = try await responder.respond(
                to: request.head, request.body, on: channel, continuing: request.continued)
            switch reply {
            case .response(let whole): response = whole
            case .waits(let waiting):
                requests.waits()
                waiting.wait { waiting in
                    var request = request
                    request.continued = waiting
                    requests.add(request, startingTask: start)
                }
                return false
            }
        } catch {
            response = OutgoingResponse(status: .internalServerError)
        }
        let writer = ResponseWriting(
            head: response.head, byteCount: response.body.contentLength, channel: channel, handler: handler)
        do {
            try await response.body.write(writer)
        } catch {
            // The connection has broken, or the file: the client must not take what it has for all of it.
            channel.close(promise: nil)
        }
        return true
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
