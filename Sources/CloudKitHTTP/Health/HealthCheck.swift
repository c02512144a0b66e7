import CloudKitServer

/// `GET /health`: whether the cloud runs and its store can be read.
struct HealthCheck {
    var book: Book

    func check(_ request: IncomingRequest) async -> EndpointResponse {
        do {
            _ = try await book.get("health")
            return EndpointResponse(body: Array(#"{"status":"ok","store":"readable"}"#.utf8))
        } catch {
            return EndpointResponse(
                status: .serviceUnavailable, body: Array(#"{"status":"failing","store":"unreadable"}"#.utf8))
        }
    }
}
