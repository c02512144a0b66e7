import CloudKitAccounts
import CloudKitServer

/// `GET /health`: whether the cloud runs, its store can be read, and nothing in it was found damaged.
struct HealthCheck {
    var accounts: AccountStore
    var cloud: Cloud

    func check(_ request: IncomingRequest) async -> EndpointResponse {
        do {
            try await accounts.checkIsReadable()
        } catch {
            return EndpointResponse(
                status: .serviceUnavailable, body: Array(#"{"status":"failing","store":"unreadable"}"#.utf8))
        }
        let details = details
        guard !details.isEmpty else {
            return EndpointResponse(body: Array(#"{"status":"ok","store":"readable"}"#.utf8))
        }
        // 200: the cloud serves everything else, and would not do so from behind a proxy that took it for dead.
        return EndpointResponse(
            body: Array(
                #"{"status":"degraded","store":"readable","details":[\#(details.joined(separator: ","))]}"#.utf8))
    }

    /// The checks that failed. Their texts are fixed and need no escapes.
    private var details: [String] {
        var details: [String] = []
        let damaged = cloud.store.damage.count
        if damaged > 0 { details.append(#"{"check":"values","status":"failed","damaged":\#(damaged)}"#) }
        if let renewal = cloud.storeHistory.renewals.last {
            details.append(#"{"check":"epoch","status":"failed","reason":"\#(renewal.rawValue)"}"#)
        }
        return details
    }
}
