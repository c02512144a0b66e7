import CloudKitModel
import HTTPTypes

/// Hands a request to the endpoint that its path names.
struct Routing: Sendable {
    var table: EndpointTable
    /// What every request is checked for before its endpoint's own steps.
    var checks: [any RequestCheck] = []

    func respond(to request: IncomingRequest) async throws -> EndpointResponse {
        // In two parts: what finding the endpoint needs is not kept while its handler waits.
        let handler = try handler(of: request)
        return try await handler(request)
    }

    private func handler(of request: IncomingRequest) throws -> RequestHandler {
        let route = try table.route(for: request.path)
        request.endpoint = route.endpoint
        let methods = route.endpoint.methods
        if request.method == .options {
            return { request in
                EndpointResponse(
                    status: .noContent, body: [], headers: request.crossOrigin.preflightHeaders(allowing: methods))
            }
        }
        guard methods.contains(request.method) else {
            throw RequestFailure(.methodNotAllowed, "method not allowed for this endpoint")
        }
        for check in checks { try check.check(request) }
        return route.handler
    }
}
