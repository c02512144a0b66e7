import CloudKitRecordLayer

/// The name of a group of accounts, which operators list, limit and disable together.
package struct AccountGroup: Hashable, Sendable, CustomStringConvertible {
    /// 1 to 64 characters on one line, without space around them.
    package let name: String

    private static let charactersMax = 64

    /// Returns nil for a text that cannot name a group.
    package init?(_ text: String) {
        guard (1...Self.charactersMax).contains(text.count), text.first?.isWhitespace == false,
            text.last?.isWhitespace == false,
            text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control && !$0.properties.isNewline })
        else { return nil }
        name = text
    }

    /// The name.
    package var description: String { name }
}

extension Unicode.Scalar.Properties {
    fileprivate var isNewline: Bool { generalCategory == .lineSeparator || generalCategory == .paragraphSeparator }
}

extension Accounts {
    /// Returns the accounts of a group, in the order of their addresses.
    package func list(group: AccountGroup) async throws -> [Account] {
        try await list().filter { $0.group == group.name }
    }

    /// Puts an account into a group, out of the one that it was in; nil: into none.
    ///
    /// - Throws: `AccountError.notFound`.
    package func setGroup(_ group: AccountGroup?, email: String) async throws {
        try await change(email) { $0.group = group?.name }
    }

    /// Sets the space of all accounts of a group, as `setQuota(_:email:)` does.
    ///
    /// - Returns: The number of accounts.
    /// - Throws: `AccountError.groupEmpty`.
    @discardableResult
    package func setQuota(_ quota: AccountQuota, group: AccountGroup) async throws -> Int {
        try await change(group) { $0.quota = quota }
    }

    /// Disables all accounts of a group, or enables them again.
    ///
    /// - Returns: The number of accounts.
    /// - Throws: `AccountError.groupEmpty`.
    @discardableResult
    package func setDisabled(_ isDisabled: Bool, group: AccountGroup) async throws -> Int {
        try await change(group) { $0.isDisabled = isDisabled }
    }

    /// Changes all accounts of a group, or none.
    ///
    /// - Parameter group: nil: all accounts of the cloud.
    func change(_ group: AccountGroup?, _ change: @Sendable (inout Account) -> Void) async throws -> Int {
        try await store.write { transaction in
            let members = try await Account.table.rows(in: transaction).filter {
                group == nil || $0.group == group?.name
            }
            if let group, members.isEmpty { throw AccountError.groupEmpty(group.name) }
            for var account in members {
                change(&account)
                try Account.table.set(account.id, to: account, in: &transaction)
            }
            return members.count
        }
    }
}
