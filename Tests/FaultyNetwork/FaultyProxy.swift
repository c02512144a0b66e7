import CloudKitClient
import Foundation
import NIOCore
import Synchronization

/// A TCP proxy before a cloud that drops, delays, doubles and cuts what passes through it, as its test tells it to.
///
/// What `FaultyTransport` does inside a process, this does to real connections. Time is the given clock's, chance is the test's.
package final class FaultyProxy: Sendable {
    package typealias Decision = @Sendable (RawMessage) -> NetworkFault?

    private let cloud: Int
    private let timekeeping: ClientClock
    private let decision: Decision
    private let faults = Mutex<[NetworkFault]>([])

    private init(cloud: Int, timekeeping: ClientClock, decision: @escaping Decision) {
        self.cloud = cloud
        self.timekeeping = timekeeping
        self.decision = decision
    }

    /// Runs the body beside the proxy, which listens on a port of the system's choosing.
    ///
    /// - Parameters:
    ///   - cloud: The port of this machine where the cloud listens.
    ///   - decide: The fate of each request; nil lets it through.
    ///   - body: Gets the proxy and the address at which devices find it.
    package static func run<Value: Sendable>(
        before cloud: Int, timekeeping: ClientClock, decide: @escaping Decision,
        _ body: @escaping @Sendable (FaultyProxy, String) async throws -> Value
    ) async throws -> Value {
        let proxy = FaultyProxy(cloud: cloud, timekeeping: timekeeping, decision: decide)
        return try await RawServer.run { stream, _ in
            while let request = try await stream.request(), try await proxy.pass(request, from: &stream) {}
        } body: { server in
            try await body(proxy, "http://127.0.0.1:\(server.port)")
        }
    }

    /// Everything that has gone wrong so far.
    package var happened: [NetworkFault] { faults.withLock { $0 } }

    /// - Returns: Whether the device's connection goes on.
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
            try await timekeeping.sleep(duration)
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

    /// Hands a request to the cloud and waits for what it says.
    private func forward(_ request: RawMessage) async throws -> RawMessage {
        try await RawStream.with(try await RawStream.connect(to: cloud)) { cloud in
            try await cloud.send(request.bytes)
            guard let answer = try await cloud.answer(to: request.method) else { throw CancellationError() }
            return answer
        }
    }

    /// Hands a part of a request to the cloud, and leaves it alone with that.
    private func forward(_ request: RawMessage, cutAfter count: Int) async throws {
        try await RawStream.with(try await RawStream.connect(to: cloud)) { cloud in
            try await cloud.send(request.head + request.body.prefix(count))
        }
    }
}
