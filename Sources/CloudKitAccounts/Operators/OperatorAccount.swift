import CloudKitModel
import CloudKitRecordLayer

/// The role of an operator, which the operator of the machine gave to an account.
package struct OperatorAccount: StoredRow, Hashable {
    /// The account's identifier.
    package var account: String
    /// The only container that it gives access to; nil for the whole cloud.
    package var container: String?
    /// Milliseconds since 1970.
    package var created: Int64

    /// account → `OperatorAccount`
    package static let table = RowTable<String, OperatorAccount>("operator-account")
}

/// The accounts with an operator's role.
package struct OperatorAccounts: Sendable {
    let store: AccountStore

    /// Gives an account the role, or takes it away.
    ///
    /// - Parameter container: The only container that the role is for; nil for the whole cloud.
    /// - Throws: `AccountError` for an address without an account.
    package func set(_ isOperator: Bool, email: String, container: ContainerID? = nil) async throws {
        guard let account = try await store.accounts.account(email: email) else { throw AccountError.notFound(email) }
        let now = store.serverEnvironment.now()
        try await store.write { transaction in
            guard isOperator else {
                OperatorAccount.table.clear(account.id, in: &transaction)
                return
            }
            let row = OperatorAccount(account: account.id, container: container?.name, created: now)
            try OperatorAccount.table.set(account.id, to: row, in: &transaction)
        }
    }

    /// Returns the accounts with the role, and the role of each.
    package func list() async throws -> [(account: Account, role: OperatorAccount)] {
        try await store.read { view in
            var found: [(account: Account, role: OperatorAccount)] = []
            for role in try await OperatorAccount.table.rows(in: view) {
                if let account = try await Account.table.row(role.account, in: view) { found.append((account, role)) }
            }
            return found
        }
    }
}

extension AccountStore {
    /// The accounts with an operator's role.
    package var operatorAccounts: OperatorAccounts { OperatorAccounts(store: self) }
}
