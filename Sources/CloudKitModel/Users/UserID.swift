/// The record name of a user, random and different in every container (B-USR-01): `_` and 32 hexadecimal digits.
package struct UserID: Hashable, Codable, Sendable, CustomStringConvertible {
    /// The record name.
    package let recordName: String

    /// Creates the id of a record name.
    package init(_ recordName: String) { self.recordName = recordName }

    /// A textual form of the value, for logs and debugging.
    package var description: String { recordName }

    /// The name by which a caller refers to itself (B-ZN-03). The server resolves it before any other use.
    package static let caller = UserID("__defaultOwner__")

    /// The owner of the public database's only zone.
    package static let publicOwner = UserID("_defaultOwner")

    /// A Boolean value that indicates whether this is one of the spellings by which a caller may name itself.
    package var isCaller: Bool { recordName == "__defaultOwner__" || recordName == "_defaultOwner" }
}
