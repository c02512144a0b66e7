import FaultyNetwork
import Synchronization

/// A local push service on a port that the system chooses, which records messages and answers as its test decides.
package final class PushServer: Sendable {
    package typealias Decision = @Sendable (RawMessage) -> String

    private let messages = Mutex<[RawMessage]>([])
    private let decision: Mutex<Decision>
    private let listeningPort = Mutex(0)

    private init(decision: @escaping Decision) { self.decision = Mutex(decision) }

    /// Runs the body with a push service.
    ///
    /// - Parameter decide: Returns the status line and headers of the answer to a message.
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
            service.listeningPort.withLock { $0 = server.port }
            return try await body(service)
        }
    }

    /// Replaces the answers.
    package func answer(_ decide: @escaping Decision) { decision.withLock { $0 = decide } }

    package var port: Int { listeningPort.withLock { $0 } }

    /// Scheme, host and port.
    package var origin: String { "http://127.0.0.1:\(port)" }

    /// All messages so far, including the refused ones.
    package var received: [RawMessage] { messages.withLock { $0 } }
}
