import NIOCore
import Synchronization

/// A balancer in front of several nodes of a cloud, as proxies are: it asks every node for `/health` again and again, and passes each
/// request to the next node that is healthy and takes the connection.
package final class NodeFront: Sendable {
    private struct State {
        var healthy: Set<Int> = []
        var next = 0
        var passed: [Int: Int] = [:]
    }

    private let nodes: [Int]
    private let state = Mutex(State())

    private init(_ nodes: [Int]) { self.nodes = nodes }

    /// Runs the body with a front.
    ///
    /// - Parameters:
    ///   - nodes: The local ports of the nodes.
    ///   - body: A function of the front and its address.
    package static func run<Value: Sendable>(
        before nodes: [Int], _ body: @escaping @Sendable (NodeFront, String) async throws -> Value
    ) async throws -> Value {
        let front = NodeFront(nodes)
        return try await RawServer.run { stream, _ in
            while let request = try await stream.request(), let answer = try await front.answer(request) {
                try await stream.send(answer.bytes)
            }
        } body: { server in
            try await withThrowingTaskGroup(of: Void.self) { checks in
                for node in nodes { checks.addTask { try await front.check(node) } }
                defer { checks.cancelAll() }
                return try await body(front, "http://127.0.0.1:\(server.port)")
            }
        }
    }

    /// The ports of the nodes that are healthy.
    package var healthy: Set<Int> { state.withLock { $0.healthy } }

    /// The requests that each node has answered.
    package var passed: [Int: Int] { state.withLock { $0.passed } }

    private func check(_ node: Int) async throws {
        while true {
            let request = "GET /health HTTP/1.1\r\nHost: 127.0.0.1:\(node)\r\nConnection: close\r\n\r\n"
            let isHealthy = await withTaskGroup(of: Bool.self) { group in
                group.addTask {
                    let answer = try? await Self.exchange(Array(request.utf8), "GET", with: node)
                    return answer?.firstLine.contains(" 200 ") == true
                }
                // A frozen node takes the connection and says nothing.
                group.addTask {
                    try? await Task.sleep(for: .seconds(1))
                    return false
                }
                defer { group.cancelAll() }
                return await group.next() ?? false
            }
            state.withLock { state in
                if isHealthy { state.healthy.insert(node) } else { state.healthy.remove(node) }
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Passes a request on; nil: no node took it, or the one that did gave no answer.
    private func answer(_ request: RawMessage) async throws -> RawMessage? {
        for node in candidates() {
            let stream: NIOAsyncChannel<ByteBuffer, ByteBuffer>
            do { stream = try await RawStream.connect(to: node) } catch { continue }
            let answer = try await RawStream.with(stream) { cloud in
                try await cloud.send(request.bytes)
                return try await cloud.answer(to: request.method)
            }
            if answer != nil { state.withLock { $0.passed[node, default: 0] += 1 } }
            return answer
        }
        return nil
    }

    /// All nodes, the healthy ones first, each time beginning with another.
    private func candidates() -> [Int] {
        state.withLock { state in
            state.next += 1
            let turned = nodes.indices.map { nodes[($0 + state.next) % nodes.count] }
            return turned.filter(state.healthy.contains) + turned.filter { !state.healthy.contains($0) }
        }
    }

    private static func exchange(_ request: [UInt8], _ method: String, with node: Int) async throws -> RawMessage? {
        try await RawStream.with(try await RawStream.connect(to: node)) { cloud in
            try await cloud.send(request)
            return try await cloud.answer(to: method)
        }
    }
}
