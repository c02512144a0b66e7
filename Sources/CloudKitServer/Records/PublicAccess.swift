import CloudKitModel
import CloudKitSchema

/// Who may do what to records of the public database, by the grants of their types (B-DB-06 to B-DB-08).
package enum PublicAccess {
    /// Why `user` may not do this; nil if it may.
    ///
    /// - Parameters:
    ///   - creator: Who created the record; nil for one that is about to be.
    ///   - grants: Those of the record's type.
    package static func refusal(
        _ privilege: Grant.Privilege, grants: Set<Grant>, user: UserID?, creator: UserID?
    ) -> RequestFailure? {
        if grants.contains(Grant(privilege, to: Grant.world)) { return nil }
        if let user {
            if grants.contains(Grant(privilege, to: Grant.signedIn)) { return nil }
            if user == creator, grants.contains(Grant(privilege, to: Grant.creator)) { return nil }
        }
        return RequestFailure(.accessDenied, "\(privilege.rawValue) operation not permitted")
    }
}
