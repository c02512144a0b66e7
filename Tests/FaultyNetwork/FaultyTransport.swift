import CloudKitClient
import Foundation
import Synchronization

/// What happens to one request on its way.
package enum NetworkFault: Hashable, Sendable {
    /// No connection is made; the server hears nothing.
    case unreachable
    /// The connection breaks before the server has the request.
    case requestLost
    /// The connection breaks after so many bytes of the request's body.
    case requestCut(after: Int)
    /// The server does its work, and its answer is lost.
    case answerLost
    /// The server gets the request twice; the answer to the second comes back.
    case doubled
    /// The server does its work, and the body of its answer ends after so many bytes.
    case cut(after: Int)
    /// The request waits so long before it is sent.
    case delayed(Duration)
    /// Somebody before the server answers with this status, in no form the server knows.
    case refused(status: Int, retryAfter: Int?)
}

/// A transport over a network that loses, doubles, delays and cuts, as its test tells it to.
///
/// Time is the given clock's, chance is the test's: nothing here waits or rolls dice by itself.
package final class FaultyTransport: Transport {
    package typealias Decision = @Sendable (TransportRequest) -> NetworkFault?

    private let base: any Transport
    private let timekeeping: ClientClock
    private let decision: Mutex<Decision>
    private let faults = Mutex<[NetworkFault]>([])

    /// - Parameter decide: The fate of each request; nil lets it through.
    package init(
        over base: any Transport, timekeeping: ClientClock, decide: @escaping Decision = { _ in nil }
    ) {
        self.base = base
        self.timekeeping = timekeeping
        decision = Mutex(decide)
    }

    /// Changes the weather.
    package func decide(_ decide: @escaping Decision) { decision.withLock { $0 = decide } }

    /// Everything that has gone wrong so far.
    package var happened: [NetworkFault] { faults.withLock { $0 } }

    package func send(_ request: TransportRequest) async throws -> TransportResponse {
        guard let fault = decision.withLock({ $0 })(request) else { return try await base.send(request) }
        faults.withLock { $0.append(fault) }
        switch fault {
        case .unreachable:
            throw TransportFailure.unreachable
        case .requestLost, .requestCut:
            throw TransportFailure.connectionLost
        case .answerLost:
            _ = try await base.send(request)
            throw TransportFailure.answerLost
        case .doubled:
            _ = try await base.send(request)
            return try await base.send(request)
        case .cut(let count):
            var response = try await base.send(request)
            response.body = Array(response.body.prefix(count))
            return response
        case .delayed(let duration):
            try await timekeeping.sleep(duration)
            return try await base.send(request)
        case .refused(let status, let retryAfter):
            let headers = retryAfter.map { ["Retry-After": String($0)] } ?? [:]
            return TransportResponse(status: status, headers: headers, body: Array("<html>busy</html>".utf8))
        }
    }
}
