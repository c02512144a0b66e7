import FaultyNetwork
import Synchronization

/// A push service of its own, on a port of the system's choosing, that keeps what it gets and answers as it is told.
package final class PushServer: Sendable {
    package typealias Decision = @Sendable (RawMessage) -> String

    private let messages = Mutex<[RawMessage]>([])
    private let decision: Mutex<Decision>
    private let place = Mutex(0)

    private init(decision: @escaping Decision) { self.decision = Mutex(decision) }

    /// Runs the body beside the service.
    ///
    /// - Parameter decide: Status line and headers of the answer to each message, without the last line ends.
    package static func run<Value: Sendable>(
        answering decide: @escaping Decision = { _ in "201 Created" },
        _ body: @escaping @Sendable (PushServer) async throws -> Value
    ) async throws -> Value {
        let service = PushServer(decision: decide)
        return try await RawServer.run { stream, _ in
            while let request = try await stream.request() {
                let answer = service.decision.withLock { $0 }(request)
                service.messages.withLock { $0.append(request) }
                try await stream.send("HTTP/1.1 \(answer)\r\nContent-Length: 0\r\n\r\n")
            }
        } body: { server in
            service.place.withLock { $0 = server.port }
            return try await body(service)
        }
    }

    /// Answers otherwise from now on.
    package func answer(_ decide: @escaping Decision) { decision.withLock { $0 = decide } }

    package var port: Int { place.withLock { $0 } }

    /// Scheme, host and port.
    package var origin: String { "http://127.0.0.1:\(port)" }

    /// Every message so far, those that were refused as well.
    package var received: [RawMessage] { messages.withLock { $0 } }
}
