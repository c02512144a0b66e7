import CloudKitAccounts
import CloudKitServer

/// `GET /health`: whether the cloud runs and its store can be read.
struct HealthCheck {
    var accounts: AccountStore
    /// Requests under other names learn no details.
    var operatorNames: OperatorNames

    func check(_ request: IncomingRequest) async -> EndpointResponse {
        do {
            try await accounts.checkIsReadable()
            let details = operatorNames.admits(request) ? #","store":"readable""# : ""
            return EndpointResponse(body: Array(#"{"status":"ok"\#(details)}"#.utf8))
        } catch {
            let details = operatorNames.admits(request) ? #","store":"unreadable""# : ""
            return EndpointResponse(
                status: .serviceUnavailable, body: Array(#"{"status":"failing"\#(details)}"#.utf8))
        }
    }
}
