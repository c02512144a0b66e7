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
        case response(OutgoingResponse)
        /// Nothing yet: the request is handed over again once its wait has ended.
        case waits(WaitingRequest)
    }

    /// Responds to a request.
    ///
    /// - Parameter waiting: What the request has waited for; nil for one that has just arrived.
    func respond(
        to head: RequestHead, _ body: RequestBody, on channel: any Channel, continuing waiting: WaitingRequest? = nil
    ) async throws -> Reply {
        let connection = limiter.connection(of: channel)
        if waiting == nil { connection.requestBegan() }
        let incoming = IncomingRequest(
            head, body, id: waiting?.id ?? LogID(milliseconds: now()), start: waiting?.start ?? .now, on: channel,
            connection: connection, configuration: configuration)
        incoming.poll = waiting?.poll
        defer { bodyReader.release(incoming) }
        do {
            let response = try await handler(incoming)
            if draining.hasBegun || bodyReader.closesConnection(after: incoming) {
                incoming.responseHeaders[.connection] = "close"
            }
            return .response(
                OutgoingResponse(response, to: incoming, minimumRate: configuration.minimumTransferRate))
        } catch let pending as PendingNotifications {
            return .waits(WaitingRequest(id: incoming.id, start: incoming.start, pending))
        } catch {
            connection.requestEnded(leavesBody: incoming.leavesBody)
            throw error
        }
    }
}
