import CloudKitAccounts
import CloudKitServer

/// `GET /health`: whether the cloud runs and its store can be read.
struct HealthCheck {
    var accounts: AccountStore

    func check(_ request: IncomingRequest) async -> EndpointResponse {
        do {
            try await accounts.checkIsReadable()
            return EndpointResponse(body: Array(#"{"status":"ok","store":"readable"}"#.utf8))
        } catch {
            return EndpointResponse(
                status: .serviceUnavailable, body: Array(#"{"status":"failing","store":"unreadable"}"#.utf8))
        }
    }
}
