import CloudKitDevice
import HTTPTransfer

/// The HTTP transport of sign-in requests.
enum WebSend {
    static let send: DeviceTransport = { request in
        let message = HTTPClient.Request(
            method: request.method, url: request.url, headers: request.headers, body: request.body,
            timeLimit: .seconds(30))
        do {
            let answer = try await HTTPClient.shared.send(message)
            return DeviceResponse(status: answer.status, body: answer.body)
        } catch let failure as HTTPClient.Failure {
            throw NoAnswerError(endpoint: String(message.origin), failure: failure)
        }
    }
}

/// The error of a cloud that did not answer.
struct NoAnswerError: Error, CustomStringConvertible {
    var endpoint: String
    var failure: HTTPClient.Failure

    var description: String {
        switch failure.kind {
        case .unreachable:
            "The cloud at \(endpoint) cannot be reached (\(failure.reason)). Is it running? Start one with: welkin serve"
        case .notTrusted:
            "The cloud at \(endpoint) could not prove its identity (\(failure.reason)). Check its certificate and the address; the certificate "
                + "of a private authority belongs into the file that CLOUDKIT_CA_FILE names"
        case .requestUnusable:
            "The cloud at \(endpoint) cannot be used (\(failure.reason)). Check the address"
        case .connectionLost, .answerLost, .timedOut, .answerTooLarge:
            "The cloud at \(endpoint) did not answer (\(failure.reason)). Try again"
        }
    }
}
