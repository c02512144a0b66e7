import CloudKitModel
import HTTPTypes

/// Hands a request to the endpoint that its path names.
struct Routing: Sendable {
    var table: EndpointTable
    var bodyReader: BodyReader

    func respond(to request: IncomingRequest) async throws -> EndpointResponse {
        // In two parts: what finding the endpoint needs is not kept while its handler waits.
        let handler = try await handler(of: request)
        return try await handler(request)
    }

    private func handler(of request: IncomingRequest) async throws -> RequestHandler {
        let found = Result { () throws(RequestFailure) in try table.route(for: request.path) }
        // A body is read even for a path that names no endpoint: only then does the client read the response.
        if (try? found.get().readsBody) != true { try await bodyReader.readBody(of: request) }
        let route = try found.get()
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
        return route.handler
    }
}
