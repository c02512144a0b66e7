import CloudKitAccounts
import CloudKitModel
import CloudKitRecordLayer

extension Cloud {
    /// Marks the zones of accounts whose keychain was reset: what lies in them can never be read again, and clients learn so
    /// (B-ZN-12). To be called after a reset and, for those that a crash interrupted, again and again.
    ///
    /// A container whose schema knows neither encrypted fields nor assets keeps its zones, and their shares, which begin anew
    /// with keys; and so does an empty zone. The default zone cannot be deleted, so its records stay: plain fields as they are, sealed ones closed for good, and a new
    /// key epoch, so that a record is written with all its sealed values anew or not at all.
    ///
    /// Any number of processes may do so at once, and a crash may come between any two steps: each transaction marks only while the
    /// reset is not finished. Until then its owner is held back, so that a step done twice does no harm; from then on nothing is
    /// marked, so that a process that is late ends nothing that the owner has made since.
    package func finishKeyResets() async throws {
        for reset in try await accountStore.keyResets.unfinished() {
            for (container, user) in try await accountStore.userNames.all(of: reset.account) {
                for environment in Environment.allCases {
                    try await resetKeys(ofZonesOf: user, in: container, environment, for: reset)
                }
            }
            try await accountStore.keyResets.finish(reset)
        }
    }

    /// Whether zones are still to be marked on account of a reset, asked in the transaction that would; it names `keyResetBook`.
    ///
    /// - Parameter reset: nil: an operator's order, which is carried out in any case.
    func isDue(_ reset: KeyReset?, _ transaction: StorageWriter) async throws -> Bool {
        guard let reset else { return true }
        return try await accountStore.keyResets.isUnfinished(reset, in: transaction)
    }

    /// Where resets that are not finished stand.
    var keyResetBook: StoragePartition { accountStore.partition }
}
