import CloudKitModel
import CloudKitWire

/// The endpoints that identify users (docs/web-services.md §11).
struct UserEndpoints {
    func caller(_ call: DatabaseCall) throws -> EndpointResponse {
        EndpointResponse(body: UserIdentity(user: try call.user()).wireAnswer(), itemsOut: 1)
    }

    func current(_ call: DatabaseCall) throws -> EndpointResponse {
        try .json(CurrentBody(userRecordName: try call.user().recordName), itemsOut: 1)
    }

    /// Returns no user: only those who agreed to be found are found (B-ACC-05), and there is no way to agree.
    func discover(_ call: DatabaseCall) throws -> EndpointResponse {
        _ = try call.user()
        let scope = call.database.scope
        guard scope == .public else {
            throw RequestFailure(
                .badRequest, "endpoint not applicable in the database type '\(scope.word)db'")
        }
        return EndpointResponse(body: Array(#"{"users":[]}"#.utf8))
    }

    private struct CurrentBody: Encodable {
        var userRecordName: String
    }
}
