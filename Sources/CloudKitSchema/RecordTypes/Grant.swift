/// What a role may do with the records of a type in the public database (B-DB-07).
package struct Grant: Hashable, Sendable {
    package enum Privilege: String, Hashable, Sendable, CaseIterable {
        case read = "READ"
        case create = "CREATE"
        /// Changing and deleting.
        case write = "WRITE"
    }

    /// A role's name; the built-in ones are below.
    package var role: String
    package var privilege: Privilege

    package init(_ privilege: Privilege, to role: String) {
        self.role = role
        self.privilege = privilege
    }

    /// Everybody, with or without an account.
    package static let world = "_world"
    /// Everybody with an account.
    package static let signedIn = "_icloud"
    /// Whoever created the record.
    package static let creator = "_creator"

    /// What a new type starts with (B-DB-06).
    package static let defaults: Set<Grant> = [
        Grant(.read, to: world), Grant(.create, to: signedIn), Grant(.write, to: creator),
    ]
    /// What the type of user records starts with: users come into being by signing in.
    package static let userDefaults: Set<Grant> = [Grant(.read, to: world), Grant(.write, to: creator)]
}
