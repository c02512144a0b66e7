import CloudKitServer

/// Names the epoch of the store in every answer to the framework, so that devices know when the cloud was restored from a backup (B-BKD-13).
struct StoreEpoch: RequestMiddleware {
    let cloud: Cloud

    func handle(_ request: IncomingRequest, next: RequestHandler) async throws -> EndpointResponse {
        if request.surface == .native {
            let epoch = cloud.epoch
            request.responseHeaders[HeaderName.storeEpoch] =
                epoch.restoredTo == 0 ? epoch.name : "\(epoch.name);\(epoch.restoredTo)"
        }
        return try await next(request)
    }
}
