import CloudKitAccounts
import CloudKitServer
import HTTPTypes

/// `GET /health`: whether the cloud runs, its store can be read, and nothing in it was found damaged.
struct HealthCheck {
    var accounts: AccountStore
    var cloud: Cloud
    /// Requests under other names learn no details.
    var operatorNames: OperatorNames

    func check(_ request: IncomingRequest) async -> EndpointResponse {
        let isDetailed = operatorNames.admits(request)
        do {
            try await accounts.checkIsReadable()
        } catch {
            return response("failing", isDetailed ? #","store":"unreadable""# : "", status: .serviceUnavailable)
        }
        let failures = failures
        guard !failures.isEmpty else { return response("ok", isDetailed ? #","store":"readable""# : "") }
        // 200: the cloud serves everything else, and would not do so from behind a proxy that took it for dead.
        let details = #","store":"readable","details":[\#(failures.joined(separator: ","))]"#
        return response("degraded", isDetailed ? details : "")
    }

    private func response(_ status: String, _ details: String, status code: HTTPResponse.Status = .ok)
        -> EndpointResponse
    {
        EndpointResponse(status: code, body: Array(#"{"status":"\#(status)"\#(details)}"#.utf8))
    }

    /// The checks that failed. Their texts are fixed and need no escapes.
    private var failures: [String] {
        var failures: [String] = []
        let damaged = cloud.store.damage.count
        if damaged > 0 { failures.append(#"{"check":"values","status":"failed","damaged":\#(damaged)}"#) }
        if let renewal = cloud.storeHistory.renewals.last {
            failures.append(#"{"check":"epoch","status":"failed","reason":"\#(renewal.rawValue)"}"#)
        }
        return failures
    }
}
