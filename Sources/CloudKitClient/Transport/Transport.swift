import Foundation

/// Carries one request to the cloud and brings back its answer.
///
/// The framework's own is `HTTPTransport`; tests script theirs.
package protocol Transport: Sendable {
    /// Sends a request and returns the whole response, whatever its status.
    ///
    /// - Throws: `TransportFailure`; `CancellationError` when the task was cancelled.
    func send(_ request: TransportRequest) async throws -> TransportResponse
}

/// One HTTP request.
package struct TransportRequest: Hashable, Sendable {
    /// The method of an HTTP request.
    package enum Method: String, Hashable, Sendable {
        case get = "GET"
        case post = "POST"
        /// One piece of a file (`PiecewiseUpload`).
        case patch = "PATCH"
        case head = "HEAD"
    }

    /// The method of the request.
    package var method: Method
    /// The absolute URL of the request.
    package var url: URL
    /// The headers of the request.
    package var headers: [String: String]
    /// The body of the request; empty: none.
    package var body: [UInt8]
    /// Seconds without a byte from the other side after which the request fails (B-OPS-04).
    package var timeout: TimeInterval
    /// A Boolean value that indicates whether the request may use a cellular network. Ignored on Linux.
    package var allowsCellularAccess: Bool
    /// A Boolean value that indicates whether the cloud may receive the request twice; a transport may then send it
    /// again, once a kept connection turns out to be closed (B-THR-07).
    package var isRepeatable: Bool
    /// A Boolean value that indicates whether the server delays its response: such a request must not keep others from
    /// being sent.
    package var isLongPoll: Bool

    /// - Parameter isRepeatable: nil: as the method has it.
    package init(
        method: Method, url: URL, headers: [String: String] = [:], body: [UInt8] = [], timeout: TimeInterval = 60,
        allowsCellularAccess: Bool = true, isRepeatable: Bool? = nil, isLongPoll: Bool = false
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.allowsCellularAccess = allowsCellularAccess
        self.isRepeatable = isRepeatable ?? (method == .get || method == .head)
        self.isLongPoll = isLongPoll
    }
}

/// One HTTP answer.
package struct TransportResponse: Hashable, Sendable {
    /// The HTTP status.
    package var status: Int
    /// Keys in lower case.
    package var headers: [String: String]
    /// The body of the response.
    package var body: [UInt8]

    /// Creates a response; the keys of `headers` are converted to lower case.
    package init(status: Int, headers: [String: String] = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = Dictionary(headers.map { ($0.key.lowercased(), $0.value) }) { _, last in last }
        self.body = body
    }
}

/// The reason why no response arrived.
package enum TransportFailure: Error, Hashable, Sendable {
    /// No connection was made: no network, an unknown host. The request has had no effect.
    case unreachable
    /// The host refused the connection: it is there, and no server listens at the port. The request has had no effect.
    case refused
    /// The other side could not prove who it is. The request has had no effect.
    case notTrusted
    /// The connection broke. Whether the request had an effect is unknown.
    case connectionLost
    /// The request was sent as a whole, then the connection broke. Whether it had an effect is unknown.
    case answerLost
    /// Nothing came for too long. Whether the request had an effect is unknown.
    case timedOut
}
