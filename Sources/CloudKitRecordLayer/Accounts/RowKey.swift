/// The part of a row's stored key that follows the name of its table.
package protocol RowKey: Hashable, Sendable {
    /// The text of the key.
    var rowText: String { get }
}

extension String: RowKey {
    /// The text itself.
    package var rowText: String { self }
}

/// The key of a row that belongs to an owner, such as a session to its account.
package struct OwnedRowKey: RowKey {
    /// Holds no slash, because owners are identifiers of fixed length.
    package var owner: String
    /// Differs between the rows of one owner.
    package var name: String

    /// Creates the key of the row `name` of an owner.
    package init(owner: String, name: String) {
        self.owner = owner
        self.name = name
    }

    /// The owner and the name, separated by a slash.
    package var rowText: String { "\(owner)/\(name)" }
}
