import Foundation
import FoundationNetworking

/// HTTP by Foundation's `URLSession`: connections are kept alive, certificates are verified, no cookies, no cache.
package struct URLSessionTransport: Transport {
    /// One session for the process, so that all containers share its connections.
    package static let shared = URLSessionTransport()

    private let session: URLSession
    /// For requests that wait: each has a connection for itself while it does.
    private let waitingSession: URLSession

    package init() {
        session = URLSession(configuration: Self.configuration(connectionsMax: 6))
        waitingSession = URLSession(configuration: Self.configuration(connectionsMax: 1000))
    }

    private static func configuration(connectionsMax: Int) -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.httpCookieAcceptPolicy = .never
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpMaximumConnectionsPerHost = connectionsMax
        return configuration
    }

    package func send(_ request: TransportRequest) async throws -> TransportResponse {
        var message = URLRequest(url: request.url)
        message.httpMethod = request.method.rawValue
        message.timeoutInterval = request.timeout
        message.allowsCellularAccess = request.allowsCellularAccess
        for (name, value) in request.headers { message.setValue(value, forHTTPHeaderField: name) }
        if request.method == .post || request.method == .patch { message.httpBody = Data(request.body) }
        do {
            let (data, response) = try await (request.isLongPoll ? waitingSession : session).data(for: message)
            guard let answer = response as? HTTPURLResponse else { throw TransportFailure.connectionLost }
            return TransportResponse(status: answer.statusCode, headers: Self.headers(of: answer), body: Array(data))
        } catch let error as URLError {
            throw Self.failure(error)
        }
    }

    private static func headers(of answer: HTTPURLResponse) -> [String: String] {
        var headers: [String: String] = [:]
        for (name, value) in answer.allHeaderFields {
            if let name = name as? String, let value = value as? String { headers[name] = value }
        }
        return headers
    }

    static func failure(_ error: URLError) -> any Error {
        switch error.code {
        case .cancelled:
            CancellationError()
        case .cannotFindHost, .cannotConnectToHost, .dnsLookupFailed, .notConnectedToInternet, .dataNotAllowed,
            .internationalRoamingOff, .callIsActive:
            TransportFailure.unreachable
        case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
            .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
            .clientCertificateRequired, .appTransportSecurityRequiresSecureConnection:
            TransportFailure.notTrusted
        case .timedOut:
            TransportFailure.timedOut
        default:
            TransportFailure.connectionLost
        }
    }
}
