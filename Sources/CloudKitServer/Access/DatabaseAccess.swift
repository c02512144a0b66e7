import CloudKitModel
import CloudKitRecordLayer

/// The use that a request makes of a database.
package enum DatabaseUse: Hashable, Sendable {
    case readRecords, writeRecords, readZones
    /// Custom zones and feeds, which the public database does not have (B-DB-04).
    case writeZones, readChanges
    /// Subscriptions belong to a user (B-SUB-02).
    case subscribe
}

/// Decides who may use which database; no other place decides it.
package enum DatabaseAccess {
    /// Returns the database at `address` for `caller`.
    ///
    /// Checks in this order: server keys (B-ACC-09), the abilities of the database (B-DB-04), the account (B-DB-02,
    /// B-DB-03), the device's keys (B-ACC-02).
    package static func place(
        _ address: DatabaseAddress, for caller: Caller, to use: DatabaseUse
    ) throws(RequestFailure) -> DatabaseContext {
        if caller.isServerKey, address.scope != .public {
            throw RequestFailure(
                .accessDenied, "a server-to-server key reaches the public database only",
                remedy: "Sign in as a user.")
        }
        if caller.isOperator, address.scope != .public {
            throw RequestFailure(.accessDenied, "operators reach the public database only")
        }
        switch address.scope {
        case .public: return try publicContext(address, caller: caller, use: use)
        case .private, .shared: return try ownContext(address, caller)
        }
    }

    private static func publicContext(
        _ address: DatabaseAddress, caller: Caller, use: DatabaseUse
    ) throws(RequestFailure) -> DatabaseContext {
        switch use {
        case .writeZones, .readChanges: throw .notApplicable(in: .public)
        case .writeRecords, .subscribe: guard caller.user != nil else { throw .notSignedIn }
        case .readRecords, .readZones: break
        }
        return DatabaseContext(
            address: address, caller: caller, owner: .publicOwner,
            partition: .publicDatabase(address.container, address.environment),
            schemaPartition: .schema(address.container, address.environment))
    }

    private static func ownContext(
        _ address: DatabaseAddress, _ caller: Caller
    ) throws(RequestFailure) -> DatabaseContext {
        guard let user = caller.user else { throw .notSignedIn }
        try caller.keychain.check()
        return DatabaseContext(
            address: address, caller: caller, owner: user,
            partition: .privateDatabase(address.container, address.environment, of: user),
            schemaPartition: .schema(address.container, address.environment))
    }
}

extension RequestFailure {
    /// B-DB-03.
    static let notSignedIn = RequestFailure(
        .authenticationRequired, "request needs authorization", remedy: "Sign in.")

    /// docs/web-services.md §1.1.
    static func notApplicable(in scope: DatabaseScope) -> RequestFailure {
        RequestFailure(
            .badRequest, "endpoint not applicable in the database type '\(scope.word)db'",
            remedy: "Use a custom zone of the private database.")
    }
}
