import CloudKitClient
import Foundation
import Synchronization

/// A fault of one request.
package enum NetworkFault: Hashable, Sendable {
    /// No connection is made.
    case unreachable
    /// The connection breaks before the server has the request.
    case requestLost
    /// The connection breaks after this number of bytes of the request's body.
    case requestCut(after: Int)
    /// The server executes the request, and its answer is lost.
    case answerLost
    /// The server receives the request twice; the second answer arrives.
    case doubled
    /// The server executes the request, and the body of its answer ends after this number of bytes.
    case cut(after: Int)
    /// The request is sent after this duration.
    case delayed(Duration)
    /// A proxy answers in place of the server, with this status and a body that is not the server's.
    case refused(status: Int, retryAfter: Int?)
}

/// A transport that loses, doubles, delays and cuts requests and answers, as its test decides.
///
/// Uses the given clock; the test makes random decisions.
package final class FaultyTransport: Transport {
    package typealias Decision = @Sendable (TransportRequest) -> NetworkFault?

    private let base: any Transport
    private let clientEnvironment: ClientClock
    private let decision: Mutex<Decision>
    private let faults = Mutex<[NetworkFault]>([])

    /// Creates a transport.
    ///
    /// - Parameter decide: Returns the fault of a request, or nil to pass it on.
    package init(
        over base: any Transport, clientEnvironment: ClientClock, decide: @escaping Decision = { _ in nil }
    ) {
        self.base = base
        self.clientEnvironment = clientEnvironment
        decision = Mutex(decide)
    }

    /// Replaces the decisions about faults.
    package func decide(_ decide: @escaping Decision) { decision.withLock { $0 = decide } }

    /// The faults injected so far.
    package var injectedFaults: [NetworkFault] { faults.withLock { $0 } }

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
            try await clientEnvironment.sleep(duration)
            return try await base.send(request)
        case .refused(let status, let retryAfter):
            let headers = retryAfter.map { ["Retry-After": String($0)] } ?? [:]
            return TransportResponse(status: status, headers: headers, body: Array("<html>busy</html>".utf8))
        }
    }
}
