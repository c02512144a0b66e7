import CloudKitServer

/// Refuses requests of apps beyond the rates that the operator has set (B-THR-06).
struct RequestRateLimit: RequestMiddleware {
    var rates: RequestRates

    func handle(_ request: IncomingRequest, next: RequestHandler) async throws -> EndpointResponse {
        if let admission = request.admission {
            let place = try request.place
            try rates.count(admission.user, in: place.container, place.environment)
        }
        return try await next(request)
    }
}
