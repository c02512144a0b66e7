/// A permission of a role for the records of a type in the public database (B-DB-07).
package struct Grant: Hashable, Sendable {
    /// The permissions that a role can be granted.
    package enum Privilege: String, Hashable, Sendable, CaseIterable {
        case read = "READ"
        case create = "CREATE"
        /// Changing and deleting.
        case write = "WRITE"
    }

    /// A role's name; the built-in ones are below.
    package var role: String
    /// The permission that is granted.
    package var privilege: Privilege

    /// Grants a permission to a role.
    package init(_ privilege: Privilege, to role: String) {
        self.role = role
        self.privilege = privilege
    }

    /// All users, with or without an account.
    package static let world = "_world"
    /// All users with an account.
    package static let signedIn = "_icloud"
    /// The user who created the record.
    package static let creator = "_creator"

    /// The roles that exist without being declared.
    package static let systemRoles: Set<String> = [world, signedIn, creator]

    /// The grants of a new type (B-DB-06).
    package static let defaults: Set<Grant> = [
        Grant(.read, to: world), Grant(.create, to: signedIn), Grant(.write, to: creator),
    ]
    /// The grants of the type of user records; users are created by signing in.
    package static let userDefaults: Set<Grant> = [Grant(.read, to: world), Grant(.write, to: creator)]
}
