import CloudKitRecordLayer

/// A reset of an account's keychain, after which zones are still to be marked.
package struct KeyReset: StoredRow, Hashable {
    /// The account's id.
    package var account: String
    /// Milliseconds since 1970.
    package var begun: Int64

    /// Creates the row for a reset of an account's keychain that began at `begun`, milliseconds since 1970.
    package init(account: String, begun: Int64) {
        self.account = account
        self.begun = begun
    }

    /// account → `KeyReset`
    package static let table = RowTable<String, KeyReset>("key-reset")
}
