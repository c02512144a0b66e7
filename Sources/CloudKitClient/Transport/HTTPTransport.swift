import HTTPTransfer

/// The framework's own way to the cloud (`HTTPClient`).
package struct HTTPTransport: Transport {
    /// One for the process, so that all containers share its connections.
    package static let shared = HTTPTransport(client: .shared)

    private let client: HTTPClient

    /// Creates a transport that sends through a client.
    package init(client: HTTPClient) { self.client = client }

    /// Sends a request and returns the whole response, whatever its status.
    ///
    /// - Throws: `TransportFailure`; `CancellationError` when the task was cancelled.
    package func send(_ request: TransportRequest) async throws -> TransportResponse {
        do {
            let answer = try await client.send(
                HTTPClient.Request(
                    method: request.method.rawValue, url: request.url.absoluteString, headers: request.headers,
                    body: request.body, timeLimit: Self.timeLimit(seconds: request.timeout),
                    isRepeatable: request.isRepeatable,
                    isLongPoll: request.isLongPoll))
            return TransportResponse(status: answer.status, headers: answer.headers, body: answer.body)
        } catch let failure as HTTPClient.Failure {
            throw Self.failure(failure)
        }
    }

    /// Returns a timeout: at most seven days (B-OPS-04); zero or less means the default.
    static func timeLimit(seconds: Double) -> Duration {
        seconds > 0 ? .seconds(min(seconds, 7 * 86_400)) : .seconds(60)
    }

    private static func failure(_ failure: HTTPClient.Failure) -> any Error {
        switch failure.kind {
        case .requestUnusable: CallFailure.invalidArguments("The request cannot be sent: \(failure.reason)")
        case .unreachable: failure.isRefused ? TransportFailure.refused : .unreachable
        case .notTrusted: TransportFailure.notTrusted
        case .connectionLost: TransportFailure.connectionLost
        case .answerLost: TransportFailure.answerLost
        case .timedOut: TransportFailure.timedOut
        // No cloud says so much at once.
        case .answerTooLarge: CallFailure.answerMalformed(status: 200)
        }
    }
}
