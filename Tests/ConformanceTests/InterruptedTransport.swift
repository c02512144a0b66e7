import CloudKitClient
import Synchronization

/// A network on which something happens once, at a request to one endpoint.
final class InterruptedTransport: Transport {
    enum Moment: Sendable {
        /// The request is lost.
        case before
        /// The cloud has answered, and the answer has not come.
        case after
    }

    private struct Interruption: Sendable {
        var path: String
        var moment: Moment
        var action: @Sendable () async -> Void
    }

    private let interruption = Mutex<Interruption?>(nil)

    /// - Parameter path: The end of the request's path.
    func interrupt(_ path: String, _ moment: Moment, by action: @escaping @Sendable () async -> Void) {
        interruption.withLock { $0 = Interruption(path: path, moment: moment, action: action) }
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let now = interruption.withLock { interruption in
            request.url.path.hasSuffix(interruption?.path ?? "nowhere") ? interruption.take() : nil
        }
        if let now, now.moment == .before {
            await now.action()
            throw TransportFailure.connectionLost
        }
        let response = try await HTTPTransport.shared.send(request)
        await now?.action()
        return response
    }
}
