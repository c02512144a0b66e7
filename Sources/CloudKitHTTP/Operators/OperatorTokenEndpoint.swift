import CloudKitAccounts
import CloudKitModel

/// `GET /admin/1/token`: what the token of the request is for, so that its holder can check it without naming a container.
struct OperatorTokenEndpoint {
    var tokens: OperatorTokens

    func show(_ request: IncomingRequest) async throws -> EndpointResponse {
        switch try await tokens.standing(of: request.bearerToken) {
        case .off: throw RequestFailure.endpointNotFound
        case .refused:
            request.responseHeaders[.wwwAuthenticate] = "Bearer"
            throw OperatorAdmission.refused
        case .good(let row):
            request.sender = .operator(row)
            return try .json(
                TokenBody(id: row.id, name: row.name, container: row.container, created: row.created))
        }
    }

    private struct TokenBody: Encodable {
        var id: String
        var name: String
        var container: String?
        var created: Int64
    }
}
