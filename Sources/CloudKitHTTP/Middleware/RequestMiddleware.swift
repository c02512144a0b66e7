/// The function that responds to a request: an endpoint, or a middleware around one.
typealias RequestHandler = @Sendable (IncomingRequest) async throws -> EndpointResponse

/// A step around the handling of a request: it may look at the request before, at the response after, or respond itself.
///
/// Not Hummingbird's protocol: docs/decisions/0010-endpoints-in-a-table.md has the reasons.
protocol RequestMiddleware: Sendable {
    func handle(_ request: IncomingRequest, next: RequestHandler) async throws -> EndpointResponse
}

/// A step that looks at the request alone, or notes something in it, and waits for nothing.
protocol RequestCheck: RequestMiddleware {
    /// - Throws: The failure with which the request is refused.
    func check(_ request: IncomingRequest) throws
}

extension RequestCheck {
    func handle(_ request: IncomingRequest, next: RequestHandler) async throws -> EndpointResponse {
        try check(request)
        return try await next(request)
    }
}

extension Sequence where Element == any RequestMiddleware {
    /// Returns a handler that runs these steps around another, the first one outermost.
    func around(_ handler: @escaping RequestHandler) -> RequestHandler {
        reversed().reduce(handler) { next, middleware in
            { request in try await middleware.handle(request, next: next) }
        }
    }
}
