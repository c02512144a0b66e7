import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import HTTPTypes

/// Admits operators, by a token in `Authorization: Bearer`, to faults in the development environment and to schemas. Without any token in use
/// there are no such endpoints.
struct OperatorAdmission: RequestMiddleware {
    var tokens: OperatorTokens
    var reader: BodyReader
    /// Bytes of a body: orders are short.
    var bodyBytesMax = 16_384
    /// Whether the endpoint is for the production environment, too.
    var isForProduction = false

    func handle(_ request: IncomingRequest, next: RequestHandler) async throws -> EndpointResponse {
        do {
            try await admit(request)
            return try await next(request)
        } catch let failure as RequestFailure where failure.code == .authenticationFailed {
            request.responseHeaders[.wwwAuthenticate] = "Bearer"
            throw failure
        }
    }

    /// Checks in this order: whether the endpoint exists, the operator, the environment, the body.
    private func admit(_ request: IncomingRequest) async throws {
        switch try await tokens.standing(of: request.bearerToken) {
        case .off: throw RequestFailure.endpointNotFound
        case .refused: throw Self.refused
        case .good(let row): request.sender = .operator(row)
        }
        let environment = try request.place.environment
        guard isForProduction || environment == .development else { throw Self.developmentOnly }
        do {
            try await reader.readBody(of: request, from: .known("operator"), bytesMax: bodyBytesMax)
        } catch let failure as RequestFailure where failure.code == .sizeLimitExceeded {
            throw Self.tooLarge(bodyBytesMax)
        }
    }

    private static let refused = RequestFailure(
        .authenticationFailed, "an operator's token is needed",
        remedy: "Make one with welkin admin token create and send it as Authorization: Bearer.")
    private static let developmentOnly = RequestFailure(
        .accessDenied, "faults are ordered in the development environment only")

    private static func tooLarge(_ bytesMax: Int) -> RequestFailure {
        RequestFailure(.sizeLimitExceeded, "request too large", remedy: "An order has at most \(bytesMax) bytes.")
    }
}

/// Admits processes of this machine, and operators by their token, to the metrics. A wrong token is refused wherever it comes from.
struct MetricsAdmission: RequestMiddleware {
    var tokens: OperatorTokens

    func handle(_ request: IncomingRequest, next: RequestHandler) async throws -> EndpointResponse {
        if request.bearerToken != nil || !request.isFromThisMachine {
            guard case .good = try await tokens.standing(of: request.bearerToken) else { throw Self.refused }
        }
        return try await next(request)
    }

    private static let refused = RequestFailure(
        .authenticationFailed, "metrics are for this machine and for operators",
        remedy: "Send an operator's token as Authorization: Bearer; welkin admin token create makes one.")
}
