import CloudKitModel
import HTTPTypes
import Logging

/// Turns every error into an error object (docs/web-services.md §5.1).
struct FailureResponses: RequestMiddleware {
    var logger: Logger

    func handle(_ request: IncomingRequest, next: RequestHandler) async throws -> EndpointResponse {
        do {
            return try await next(request)
        } catch let pending as PendingNotifications {
            throw pending
        } catch is SlowBodyError {
            request.subject.add(Self.slow)
            var response = EndpointResponse(failure: Self.slow, of: request)
            response.status = .requestTimeout
            request.responseHeaders[.connection] = "close"
            return response
        } catch {
            let failure = failure(error, request)
            request.subject.add(failure)
            var response = EndpointResponse(failure: failure, of: request)
            if response.code == .methodNotAllowed, let endpoint = request.endpoint {
                response.headers[.allow] = endpoint.methods.header
            }
            return response
        }
    }

    private static let slow = RequestFailure(.tryAgainLater, "the request's body arrived too slowly", retryAfter: 1)

    private func failure(_ error: any Error, _ request: IncomingRequest) -> RequestFailure {
        if let known = error as? RequestFailure { return known }
        if error is CancellationError {
            return RequestFailure(.serverUnavailable, "the cloud is shutting down", retryAfter: 1)
        }
        // The details stay in the operator's log.
        logger.error(
            "unexpected error",
            metadata: ["error": .string(String(describing: error)), "uuid": .string(request.uuid)])
        return RequestFailure(storage: error) ?? RequestFailure(.internalError, "internal error")
    }
}
