import CloudKitModel
import HTTPTypes

/// Refuses requests that name no host, several, or one that cannot be (RFC 9112 §3.2).
struct HostCheck: RequestMiddleware {
    func handle(_ request: IncomingRequest, next: RequestHandler) async throws -> EndpointResponse {
        // Load balancers ask for health without a host.
        let isMissing = request.authority == nil && request.headers[HeaderName.host] == nil && request.path == "/health"
        // The server has taken the first one from the headers.
        guard isMissing || request.host != nil && request.headers[HeaderName.host] == nil else { throw Self.refused }
        return try await next(request)
    }

    private static let refused = RequestFailure(
        .badRequest, "the request does not name its host, or not in one valid header Host")
}

/// Admits requests to the operator's endpoints under names of this machine and names that the operator gave, and no pages of other
/// origins: a page whose host name suddenly leads to this machine gets nothing.
struct OperatorHosts: RequestMiddleware {
    var names: OperatorNames

    func handle(_ request: IncomingRequest, next: RequestHandler) async throws -> EndpointResponse {
        guard request.crossOrigin.origin == nil else {
            request.responseHeaders[.accessControlAllowOrigin] = nil
            throw Self.originRefused
        }
        guard names.admits(request) else { throw Self.hostRefused }
        return try await next(request)
    }

    private static let originRefused = RequestFailure(
        .accessDenied, "pages of other origins may not send operators' requests")
    private static let hostRefused = RequestFailure(
        .accessDenied, "operators' requests are not answered under this host name",
        remedy: "Use 127.0.0.1, or name the host with welkin serve --operator-host.")
}
