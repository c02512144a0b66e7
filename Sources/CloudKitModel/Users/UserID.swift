/// The record name of a user, random and different in every container (B-USR-01): `_` and 32 hexadecimal digits.
package struct UserID: Hashable, Codable, Sendable, CustomStringConvertible {
    package let recordName: String

    package init(_ recordName: String) { self.recordName = recordName }

    package var description: String { recordName }

    /// How a caller names itself (B-ZN-03). The server resolves it before anything else looks at it.
    package static let caller = UserID("__defaultOwner__")

    /// The owner of the public database's only zone.
    package static let publicOwner = UserID("_defaultOwner")

    /// Whether this is one of the spellings by which a caller may name itself.
    package var isCaller: Bool { recordName == "__defaultOwner__" || recordName == "_defaultOwner" }
}
