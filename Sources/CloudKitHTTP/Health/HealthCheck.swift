import CloudKitAccounts
import CloudKitServer

/// `GET /health`: whether the cloud runs and its store can be read.
struct HealthCheck {
    var accounts: AccountStore
    var operatorHosts: OperatorHosts

    func check(_ request: IncomingRequest) async -> EndpointResponse {
        do {
            try await accounts.checkIsReadable()
            let details = operatorHosts.admits(request) ? #","store":"readable""# : ""
            return EndpointResponse(body: Array(#"{"status":"ok"\#(details)}"#.utf8))
        } catch {
            let details = operatorHosts.admits(request) ? #","store":"unreadable""# : ""
            return EndpointResponse(
                status: .serviceUnavailable, body: Array(#"{"status":"failing"\#(details)}"#.utf8))
        }
    }
}
