/// Sends the next web token of an admitted user back, whatever the response is.
struct TokenRotation: RequestMiddleware {
    func handle(_ request: IncomingRequest, next: RequestHandler) async throws -> EndpointResponse {
        if let token = request.admission?.nextWebAuthToken { request.responseHeaders[HeaderName.webAuthToken] = token }
        return try await next(request)
    }
}
