import CloudKitAccounts
import CloudKitModel
import CloudKitRecordLayer

/// Marks the zones of accounts whose keychain was reset (B-ZN-12).
package struct FinishKeyResets: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Marks the zones of accounts whose keychain was reset: their sealed values can never be read again, and clients
    /// learn so (B-ZN-12). Called after a reset and, for resets that a crash interrupted, repeatedly.
    ///
    /// A container whose schema knows neither encrypted fields nor assets keeps its zones and their shares, which start
    /// with new keys; so does an empty zone. The default zone cannot be deleted, so its records stay: plain fields as
    /// they are, sealed ones permanently unreadable, and a new key epoch, so that a record is written with all its
    /// values sealed again or not at all. From then on no device with earlier keys changes the account's databases, also one whose session
    /// another process still takes for current.
    ///
    /// Several processes may do so at once, and a crash may happen between any two steps: each transaction marks only
    /// while the reset is not finished. Until then the owner's requests are refused, so that a repeated step does no
    /// harm; afterwards nothing is marked, so that a late process removes nothing that the owner has made since.
    package func run() async throws {
        let accountStore = cloud.accountStore
        for reset in try await accountStore.keyResets.unfinished() {
            // Another reset that begins from here on ends this one.
            let generation = try await accountStore.accounts.account(id: reset.account)?.keychainGeneration ?? 0
            for (container, user) in try await accountStore.userNames.all(of: reset.account) {
                for environment in Environment.allCases {
                    try await ResetZoneKeys(cloud).run(
                        ofZonesOf: user, in: container, environment, for: reset, generation: generation)
                }
            }
            try await accountStore.keyResets.finish(reset)
        }
    }
}

extension Cloud {
    /// Returns whether zones are still to be marked for a reset, read in the marking transaction, which names `accountStore.partition`.
    ///
    /// - Parameter reset: nil: an operator's order, which is executed in any case.
    func isDue(_ reset: KeyReset?, _ transaction: StorageWriter) async throws -> Bool {
        guard let reset else { return true }
        return try await accountStore.keyResets.isUnfinished(reset, in: transaction)
    }
}
