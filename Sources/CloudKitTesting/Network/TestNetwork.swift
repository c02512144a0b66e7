import CloudKit
import CloudKitClient
import Foundation
import Synchronization

/// The network between one device and the cloud: a test can take it away, or let single requests fail.
public final class TestNetwork: Sendable {
    /// What becomes of a request.
    public enum Fault: Hashable, Sendable {
        /// It never reaches the cloud.
        case losesRequest
        /// The cloud does what it asks; the answer never arrives.
        case losesAnswer
        /// The cloud gets it twice; the second answer arrives.
        case sendsTwice
        /// The cloud does what it asks; the answer ends after so many bytes of its body.
        case cutsAnswer(after: Int)
        /// It takes so long to arrive, on the test's clock.
        case delays(Duration)
        /// Something on the way answers in the cloud's place, for instance 503 with `retryAfter` in seconds.
        case answers(status: Int, retryAfter: Double? = nil)
    }

    /// A request that a device made, and what came of it.
    public struct Exchange: Hashable, Sendable {
        /// `records/modify`, `zones/list`…: what stands behind the database in the path; `asset/upload` and `asset/download`
        /// for the bytes of files, `courier` for the wait for notifications.
        public var endpoint: String
        public var bodyBytes: Int
        /// The HTTP status of the answer; nil if none arrived.
        public var status: Int?
    }

    private struct Order {
        var fault: Fault
        var endpoint: String?
        var remaining: Int
    }

    private struct State {
        var isOffline = false
        var orders: [Order] = []
        var exchanges: [Exchange] = []
    }

    private let state = Mutex(State())

    init() {}

    /// Whether nothing gets through; every request then fails at once, as on a device without network.
    public var isOffline: Bool {
        get { state.withLock { $0.isOffline } }
        set { state.withLock { $0.isOffline = newValue } }
    }

    /// Lets requests to come fail.
    ///
    /// - Parameters:
    ///   - count: How many.
    ///   - endpoint: Only those to this one, such as `records/modify`, see ``Exchange``; nil: whichever comes.
    public func fail(next count: Int = 1, with fault: Fault, to endpoint: String? = nil) {
        state.withLock { $0.orders.append(Order(fault: fault, endpoint: endpoint, remaining: count)) }
    }

    /// Everything the device has sent so far, in order.
    public var exchanges: [Exchange] { state.withLock { $0.exchanges } }

    /// Ends all trouble and forgets what was sent.
    public func reset() { state.withLock { $0 = State() } }

    fileprivate func takeFault(for endpoint: String) -> Fault? {
        state.withLock { state in
            if state.isOffline { return .losesRequest }
            let place = state.orders.firstIndex { $0.remaining > 0 && ($0.endpoint ?? endpoint) == endpoint }
            guard let place else { return nil }
            state.orders[place].remaining -= 1
            let fault = state.orders[place].fault
            if state.orders[place].remaining == 0 { state.orders.remove(at: place) }
            return fault
        }
    }

    fileprivate func note(_ request: TransportRequest, _ endpoint: String, status: Int?) {
        state.withLock {
            $0.exchanges.append(Exchange(endpoint: endpoint, bodyBytes: request.body.count, status: status))
        }
    }

    fileprivate var isDown: Bool { state.withLock { $0.isOffline } }
}

/// A device's way to the cloud, by way of its network.
struct NetworkTransport: Transport {
    let network: TestNetwork
    let clock: TestClock
    let address: ServerAddress
    let real: any Transport

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let endpoint = Self.endpoint(of: request.url)
        do {
            let response = try await answer(to: request, endpoint)
            network.note(request, endpoint, status: response.status)
            return response
        } catch {
            network.note(request, endpoint, status: nil)
            throw error
        }
    }

    private func answer(to request: TransportRequest, _ endpoint: String) async throws -> TransportResponse {
        switch network.takeFault(for: endpoint) {
        case nil:
            return try await pass(request)
        case .losesRequest:
            throw network.isDown ? TransportFailure.unreachable : .connectionLost
        case .losesAnswer:
            _ = try await pass(request)
            throw TransportFailure.answerLost
        case .sendsTwice:
            _ = try await pass(request)
            return try await pass(request)
        case .cutsAnswer(let count):
            var response = try await pass(request)
            response.body = Array(response.body.prefix(max(0, count)))
            return response
        case .delays(let duration):
            try await clock.sleep(duration)
            return try await pass(request)
        case .answers(let status, let retryAfter):
            return TransportResponse(status: status, headers: retryAfter.map { ["Retry-After": String($0)] } ?? [:])
        }
    }

    private func pass(_ request: TransportRequest) async throws -> TransportResponse {
        guard let url = address.current(request.url) else { throw TransportFailure.unreachable }
        var request = request
        request.url = url
        return try await real.send(request)
    }

    /// `/database/1/container/environment/private/records/modify` → `records/modify`; `/device/1/…/sessions/create` alike.
    private static func endpoint(of url: URL) -> String {
        let parts = url.path.split(separator: "/")
        switch (parts.first, parts.dropFirst().first) {
        case ("assets", "upload"): return "asset/upload"
        case ("assets", _): return "asset/download"
        case ("courier", _): return "courier"
        default: break
        }
        return parts.dropFirst(parts.first == "database" ? 5 : 4).joined(separator: "/")
    }
}
