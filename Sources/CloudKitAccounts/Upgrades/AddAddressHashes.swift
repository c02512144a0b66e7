import CloudKitRecordLayer
import IdentityDirectory

/// Gives each account the hashes of its addresses and phone numbers, by which devices look for people. Accounts that were made before people could be
/// found have none.
package struct AddAddressHashes: UpgradeStep {
    package let format: UInt32 = 2
    package let summary = "lets accounts be found by the hashes of their addresses and phone numbers"

    /// Creates the step.
    package init() {}

    /// Returns whether a partition is that of the accounts.
    package func applies(to partition: StoragePartition) -> Bool { partition == AccountStore.partition }

    /// Adds the hashes that some accounts lack.
    package func page(
        from key: StorageBytes, limit: Int, in view: some StorageView
    ) async throws -> UpgradePage {
        let table = Account.table
        let after = table.rowText(of: key)
        let accounts = try await table.page(prefix: "", after: after, limit: limit, in: view)
        var page = UpgradePage(rowCount: accounts.count)
        for (id, account) in accounts {
            for address in [account.email] + account.phoneNumbers {
                let hash = AddressHash.of(address).hex
                guard try await Account.idsByAddressHash.row(hash, in: view) == nil else { continue }
                page.changes.append(
                    UpgradePage.Change(key: Account.idsByAddressHash.stored(hash), value: id.rowBytes()))
            }
        }
        if accounts.count == limit { page.next = accounts.last.map { table.stored($0.key) } }
        return page
    }
}
