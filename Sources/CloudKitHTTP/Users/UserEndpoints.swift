import CloudKitModel
import CloudKitWire

/// Who the caller is (docs/web-services.md §11).
struct UserEndpoints {
    func answer(_ call: Call) throws -> Answer {
        let user = try call.user()
        switch call.endpoint {
        case .usersCaller:
            return Answer(body: UserIdentity(user: user).wireAnswer(), itemsOut: 1)
        case .usersCurrent:
            return Answer(body: try SmallJSON.encode(CurrentBody(userRecordName: user.recordName)), itemsOut: 1)
        default:
            guard call.scope == .public else { throw Self.wrongDatabase(call.scope) }
            // Only people who agreed to be found are found (B-ACC-05), and there is no way to agree.
            return Answer(body: Array(#"{"users":[]}"#.utf8))
        }
    }

    private static func wrongDatabase(_ scope: DatabaseScope) -> RequestFailure {
        RequestFailure(.badRequest, "endpoint not applicable in the database type '\(scope.word)db'")
    }

    private struct CurrentBody: Encodable {
        var userRecordName: String
    }
}
