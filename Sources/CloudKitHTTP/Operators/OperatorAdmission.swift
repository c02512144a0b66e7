import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import HTTPTypes

/// Admits operators, by a token in `Authorization: Bearer`, to faults in the development environment and to schemas, those with a token of
/// one container to that container only. Without any token in use there are no such endpoints.
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

    /// Checks in this order: whether the endpoint exists, the operator, the container, the environment, the body.
    private func admit(_ request: IncomingRequest) async throws {
        let place = try request.place
        switch try await tokens.standing(of: request.bearerToken) {
        case .off: throw RequestFailure.endpointNotFound
        case .refused: throw Self.refused
        case .good(let row):
            guard row.reaches(place.container) else { throw Self.anotherContainer }
            request.sender = .operator(row)
        }
        guard isForProduction || place.environment == .development else { throw Self.developmentOnly }
        do {
            try await reader.readBody(of: request, from: .known("operator"), bytesMax: bodyBytesMax)
        } catch let failure as RequestFailure where failure.code == .sizeLimitExceeded {
            throw Self.tooLarge(bodyBytesMax)
        }
    }

    static let refused = RequestFailure(
        .authenticationFailed, "an operator's token is needed",
        remedy: "Make one with welkin admin token create and send it as Authorization: Bearer.")
    private static let anotherContainer = RequestFailure(
        .accessDenied, "the operator's token is for another container",
        remedy: "Make one for this container with welkin admin token create --container.")
    private static let developmentOnly = RequestFailure(
        .accessDenied, "faults are ordered in the development environment only")

    private static func tooLarge(_ bytesMax: Int) -> RequestFailure {
        RequestFailure(.sizeLimitExceeded, "request too large", remedy: "An order has at most \(bytesMax) bytes.")
    }
}

extension OperatorToken {
    /// Checks that the token is for the whole cloud, where more than one container is concerned.
    ///
    /// - Throws: `accessDenied` for a token of one container.
    func requireWholeCloud() throws(RequestFailure) {
        guard container == nil else {
            throw RequestFailure(
                .accessDenied, "the operator's token is for one container only",
                remedy: "Use a token that was made without --container.")
        }
    }
}

/// Admits processes of this machine, and operators by their token, to the metrics. A wrong token is refused wherever it comes from, and one for
/// a single container, since metrics are the whole cloud's.
struct MetricsAdmission: RequestMiddleware {
    var tokens: OperatorTokens

    func handle(_ request: IncomingRequest, next: RequestHandler) async throws -> EndpointResponse {
        if request.bearerToken != nil || !request.isFromThisMachine {
            guard case .good(let row) = try await tokens.standing(of: request.bearerToken) else { throw Self.refused }
            try row.requireWholeCloud()
        }
        return try await next(request)
    }

    private static let refused = RequestFailure(
        .authenticationFailed, "metrics are for this machine and for operators",
        remedy: "Send an operator's token as Authorization: Bearer; welkin admin token create makes one.")
}
