import CloudKitModel
import CloudKitSchema

/// Decides access to records of the public database by the grants of their types (B-DB-06 to B-DB-08).
package enum PublicAccess {
    /// Returns the reason why `user` may not do this; nil if it may.
    ///
    /// - Parameters:
    ///   - creator: The creator of the record; nil for a new one.
    ///   - grants: Those of the record's type.
    ///   - roles: The custom roles of the user (B-DB-07).
    ///   - isOperator: Whether an operator of the cloud asks, who may do everything.
    package static func refusal(
        _ privilege: Grant.Privilege, grants: Set<Grant>, user: UserID?, creator: UserID?, roles: Set<String> = [],
        isOperator: Bool = false
    ) -> RequestFailure? {
        if isOperator { return nil }
        if grants.contains(Grant(privilege, to: Grant.world)) { return nil }
        if let user {
            if grants.contains(Grant(privilege, to: Grant.signedIn)) { return nil }
            if roles.contains(where: { grants.contains(Grant(privilege, to: $0)) }) { return nil }
            if user == creator, grants.contains(Grant(privilege, to: Grant.creator)) { return nil }
        }
        return RequestFailure(.accessDenied, "\(privilege.rawValue) operation not permitted")
    }
}
