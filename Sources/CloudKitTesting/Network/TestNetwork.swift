import CloudKit
import CloudKitClient
import Foundation
import Synchronization

/// The network between one device and the cloud; a test can disconnect it or make single requests fail.
public final class TestNetwork: Sendable {
    /// A fault of a single request.
    public enum Fault: Hashable, Sendable {
        /// The request never reaches the cloud.
        case losesRequest
        /// The cloud executes the request; the answer never arrives.
        case losesAnswer
        /// The cloud receives the request twice; the second answer arrives.
        case sendsTwice
        /// The cloud executes the request; the answer ends after this number of bytes of its body.
        case cutsAnswer(after: Int)
        /// The request arrives after this duration on the test's clock.
        case delays(Duration)
        /// A proxy answers in place of the cloud, for instance with 503 and `retryAfter` in seconds.
        case answers(status: Int, retryAfter: Double? = nil)
    }

    /// A request of a device, with its outcome.
    public struct Exchange: Hashable, Sendable {
        /// The part of the path after the database, such as `records/modify` or `zones/list`; `asset/upload` and `asset/download`
        /// for the bytes of files, `courier` for the long poll for notifications.
        public var endpoint: String

        /// The size of the request's body.
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
    private let endWaits: @Sendable () -> Void

    /// - Parameter endWaits: Ends the waits that answers asked the device for.
    init(endWaits: @escaping @Sendable () -> Void) { self.endWaits = endWaits }

    /// Whether the device is offline; every request then fails immediately.
    public var isOffline: Bool {
        get { state.withLock { $0.isOffline } }
        set { state.withLock { $0.isOffline = newValue } }
    }

    /// Makes the next requests fail.
    ///
    /// - Parameters:
    ///   - count: The number of requests.
    ///   - fault: The way in which they fail.
    ///   - endpoint: The endpoint of the requests, such as `records/modify`, see ``Exchange``; nil for any endpoint.
    public func fail(next count: Int = 1, with fault: Fault, to endpoint: String? = nil) {
        state.withLock { $0.orders.append(Order(fault: fault, endpoint: endpoint, remaining: count)) }
    }

    /// All requests that the device has sent, in order.
    public var exchanges: [Exchange] { state.withLock { $0.exchanges } }

    /// Ends all faults, also the waits that answers asked the device for, and clears the list of requests.
    public func reset() {
        state.withLock { $0 = State() }
        endWaits()
    }

    fileprivate func takeFault(for endpoint: String) -> Fault? {
        state.withLock { state in
            if state.isOffline { return .losesRequest }
            let index = state.orders.firstIndex { $0.remaining > 0 && ($0.endpoint ?? endpoint) == endpoint }
            guard let index else { return nil }
            state.orders[index].remaining -= 1
            let fault = state.orders[index].fault
            if state.orders[index].remaining == 0 { state.orders.remove(at: index) }
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

/// The transport of a device, through its network.
struct NetworkTransport: Transport {
    let network: TestNetwork
    let clock: TestClock
    let address: ServerAddress
    let real: any Transport
    /// Makes the cloud ready for a request of the device.
    let prepare: @Sendable () async throws -> Void

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
        try await prepare()
        var request = request
        request.url = url
        return try await real.send(request)
    }

    /// Returns `records/modify` for `/database/1/container/environment/private/records/modify`; likewise for `/device/1/…`.
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
