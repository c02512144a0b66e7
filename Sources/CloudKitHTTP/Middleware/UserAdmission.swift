import CloudKitAccounts
import CloudKitServer

/// Admits users of apps, apps without a user, and server keys (docs/web-services.md §2).
struct UserAdmission: RequestMiddleware {
    var authenticator: Authenticator
    /// Reads the body of a signed request, which the signature covers.
    var reader: BodyReader

    func handle(_ request: IncomingRequest, next: RequestHandler) async throws -> EndpointResponse {
        request.sender = .admitted(try await authenticator.admit(request, reader: reader))
        return try await next(request)
    }
}

/// Admits apps that act for a device: their API token is required, a web token may come along.
struct AppAdmission: RequestMiddleware {
    var authenticator: Authenticator
    /// Reads the body of a signed request, which the signature covers.
    var reader: BodyReader

    func handle(_ request: IncomingRequest, next: RequestHandler) async throws -> EndpointResponse {
        let place = try request.place
        let apiToken = try await authenticator.apiToken(
            request.query.apiToken, container: place.container, environment: place.environment,
            origin: request.crossOrigin.origin)
        let hasUser = request.query.webAuthToken != nil
        request.sender = .app(apiToken, user: hasUser ? try await authenticator.admit(request, reader: reader) : nil)
        return try await next(request)
    }
}

extension Authenticator {
    fileprivate func admit(_ request: IncomingRequest, reader: BodyReader) async throws -> AuthenticatedCaller {
        let place = try request.place
        return try await admit(
            request.credentials, container: place.container, environment: place.environment, target: request.target
        ) {
            try await reader.readBody(
                of: request, from: .stranger, bytesMax: reader.limits.bytesMax(of: request.surface))
            return request.body
        }
    }
}
