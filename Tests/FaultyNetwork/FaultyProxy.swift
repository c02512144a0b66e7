import CloudKitClient
import Foundation
import NIOCore
import Synchronization

/// A TCP proxy in front of a cloud that drops, delays, doubles and cuts requests and answers, as its test decides.
///
/// Does to real connections what `FaultyTransport` does inside a process. Uses the given clock; the test makes random decisions.
package final class FaultyProxy: Sendable {
    package typealias Decision = @Sendable (RawMessage) -> NetworkFault?

    private let cloud: Int
    private let clientEnvironment: ClientClock
    private let decision: Decision
    private let faults = Mutex<[NetworkFault]>([])

    private init(cloud: Int, clientEnvironment: ClientClock, decision: @escaping Decision) {
        self.cloud = cloud
        self.clientEnvironment = clientEnvironment
        self.decision = decision
    }

    /// Runs the body with a proxy, which listens on a port that the system chooses.
    ///
    /// - Parameters:
    ///   - cloud: The local port of the cloud.
    ///   - decide: Returns the fault of a request, or nil to pass it on.
    ///   - body: A function of the proxy and its address.
    package static func run<Value: Sendable>(
        before cloud: Int, clientEnvironment: ClientClock, decide: @escaping Decision,
        _ body: @escaping @Sendable (FaultyProxy, String) async throws -> Value
    ) async throws -> Value {
        let proxy = FaultyProxy(cloud: cloud, clientEnvironment: clientEnvironment, decision: decide)
        return try await RawServer.run { stream, _ in
            while let request = try await stream.request(), try await proxy.pass(request, from: &stream) {}
        } body: { server in
            try await body(proxy, "http://127.0.0.1:\(server.port)")
        }
    }

    /// The faults injected so far.
    package var injectedFaults: [NetworkFault] { faults.withLock { $0 } }

    /// Passes a request on, with its fault.
    ///
    /// - Returns: Whether the device's connection stays open.
    private func pass(_ request: RawMessage, from device: inout RawStream) async throws -> Bool {
        guard let fault = decision(request) else {
            try await device.send(try await forward(request).bytes)
            return true
        }
        faults.withLock { $0.append(fault) }
        switch fault {
        case .unreachable:
            try await device.reset()
            return false
        case .requestLost:
            return false
        case .requestCut(let count):
            try await forward(request, cutAfter: count)
            return false
        case .answerLost:
            _ = try await forward(request)
            return false
        case .cut(let count):
            let answer = try await forward(request)
            try await device.send(answer.head + answer.body.prefix(count))
            return false
        case .doubled:
            _ = try await forward(request)
            try await device.send(try await forward(request).bytes)
            return true
        case .delayed(let duration):
            try await clientEnvironment.sleep(duration)
            try await device.send(try await forward(request).bytes)
            return true
        case .refused(let status, let retryAfter):
            let page = "<html>busy</html>"
            let wait = retryAfter.map { "Retry-After: \($0)\r\n" } ?? ""
            try await device.send(
                "HTTP/1.1 \(status) Busy\r\n\(wait)Content-Length: \(page.utf8.count)\r\n\r\n\(page)")
            return true
        }
    }

    /// Forwards a request to the cloud and returns its answer.
    private func forward(_ request: RawMessage) async throws -> RawMessage {
        try await RawStream.with(try await RawStream.connect(to: cloud)) { cloud in
            try await cloud.send(request.bytes)
            guard let answer = try await cloud.answer(to: request.method) else { throw CancellationError() }
            return answer
        }
    }

    /// Forwards a part of a request to the cloud and closes the connection.
    private func forward(_ request: RawMessage, cutAfter count: Int) async throws {
        try await RawStream.with(try await RawStream.connect(to: cloud)) { cloud in
            try await cloud.send(request.head + request.body.prefix(count))
        }
    }
}
