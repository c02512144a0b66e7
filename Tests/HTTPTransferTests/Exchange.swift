import FaultyNetwork
import HTTPTransfer
import Synchronization

extension RawServer {
    func url(_ path: String = "/", host: String = "127.0.0.1", scheme: String = "http") -> String {
        "\(scheme)://\(host):\(port)\(path)"
    }
}

extension RawStream {
    func answer(_ body: String = "", status: String = "200 OK", headers: String = "") async throws {
        try await send("HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\(headers)\r\n\(body)")
    }
}

/// Which requests a server has read, in which of its connections.
final class Log: Sendable {
    private let entries = Mutex<[(connection: Int, request: RawMessage)]>([])

    func note(_ request: RawMessage, _ connection: Int) { entries.withLock { $0.append((connection, request)) } }

    var connections: [Int] { entries.withLock { $0.map(\.connection) } }
    var requests: [RawMessage] { entries.withLock { $0.map(\.request) } }
}

/// Sends one request to a server with this script.
///
/// - Returns: The answer, or the failure.
func exchange(
    _ method: String = "GET", headers: [String: String] = [:], body: [UInt8] = [],
    timeLimit: Duration = .seconds(60), isRepeatable: Bool? = nil, answerBytesMax: Int = 1 << 24,
    _ script: @escaping RawServer.Script
) async throws -> Result<HTTPClient.Answer, HTTPClient.Failure> {
    try await RawServer.run(script) { server in
        do {
            let request = HTTPClient.Request(
                method: method, url: server.url(), headers: headers, body: body, timeLimit: timeLimit,
                isRepeatable: isRepeatable, answerBytesMax: answerBytesMax)
            return .success(try await HTTPClient.shared.send(request))
        } catch let failure as HTTPClient.Failure {
            return .failure(failure)
        }
    }
}

extension Result where Success == HTTPClient.Answer, Failure == HTTPClient.Failure {
    var kind: HTTPClient.Failure.Kind? {
        if case .failure(let failure) = self { failure.kind } else { nil }
    }
}
