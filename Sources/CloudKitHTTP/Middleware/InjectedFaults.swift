import CloudKitServer

/// Applies the faults that an operator has ordered to the requests of apps.
struct InjectedFaults: RequestMiddleware {
    var faults: Faults

    func handle(_ request: IncomingRequest, next: RequestHandler) async throws -> EndpointResponse {
        if let admission = request.admission {
            let place = try request.place
            do {
                try await faults.check(admission.user, in: place.container, place.environment)
            } catch {
                request.subject.isFault = true
                throw error
            }
        }
        return try await next(request)
    }
}
