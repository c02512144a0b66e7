import CloudKitAccounts
import CloudKitModel
import CloudKitServer

/// Reads the body of a request that was let in, and keeps it until the request is answered.
struct BodyReading: RequestMiddleware {
    var reader: BodyReader

    func handle(_ request: IncomingRequest, next: RequestHandler) async throws -> EndpointResponse {
        let user = request.admission?.user
        if case .admitted = request.sender, user == nil, request.announcedBytes ?? 0 > reader.limits.strangerBytesMax {
            // Nothing without a user needs so much.
            throw RequestFailure.userNeeded
        }
        try await reader.readBody(
            of: request, from: user.map { .known($0.recordName) } ?? .stranger,
            bytesMax: user == nil ? reader.limits.strangerBytesMax : reader.limits.bytesMax(of: request.surface))
        return try await next(request)
    }
}
