import CloudKitModel

/// Refuses server keys outside of the public database.
struct ServerKeyLimit: RequestMiddleware {
    func handle(_ request: IncomingRequest, next: RequestHandler) async throws -> EndpointResponse {
        guard request.admission?.isServerKey != true || request.endpoint?.scope == .public else {
            throw RequestFailure(.authenticationFailed, "a server-to-server key reaches the public database only")
        }
        return try await next(request)
    }
}
