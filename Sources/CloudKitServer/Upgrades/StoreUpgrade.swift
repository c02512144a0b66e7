import CloudKitAccounts
import CloudKitRecordLayer

/// The upgrade of a store's rows to the format of this version, and the check that a store has it.
package struct StoreUpgrade: Sendable {
    /// What is done, and what was done.
    package typealias Plan = UpgradePlan
    /// The upgrade of the rows.
    package typealias Rows = UpgradeRows

    private let cloud: Cloud

    /// All steps from the first format on.
    private static let steps: [any UpgradeStep] = [AddAddressHashes()]
    /// The time within which a node that serves a store gives a sign of life.
    private static let signOfLife = Duration.milliseconds(2500)

    /// The format that this version reads and writes.
    package static var newest: UInt32 { steps.map(\.format).max() ?? RowsFormat.first.number }

    /// Creates the upgrade of a cloud's store.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Returns the rows' upgrade.
    ///
    /// - Parameter partitions: The names of all partitions of the store.
    package func rows(partitions: [String]) -> UpgradeRows {
        UpgradeRows(cloud.store, partitions: partitions, steps: Self.steps)
    }

    /// Refuses a store whose rows have another format, and notes the format of one that is new.
    ///
    /// - Parameter notesNew: Whether a store without accounts is noted as one of the newest format.
    /// - Throws: `newerFormat`, `olderFormat`.
    package func requireNewest(notesNew: Bool) async throws {
        let format = try await cloud.store.read(.rowsFormat) { try await $0.rowsFormat() }
        if format.number > Self.newest { throw StorageError.laterRows(format.number, newest: Self.newest) }
        if format == RowsFormat(number: Self.newest) { return }
        if format == .first, notesNew, try await noteNew() { return }
        if format == .first, try await cloud.accountStore.isEmpty() { return }
        throw StorageError(
            code: .olderFormat,
            reason: format.upgrade == nil
                ? "an earlier version of Welkin wrote the rows of the store"
                : "the upgrade of the store was not finished",
            remedy: "stop the cloud and run: welkin upgrade",
            details: ["rows": String(format.number), "read": String(Self.newest)])
    }

    /// Notes that a store without accounts has the newest format.
    ///
    /// - Returns: False: it has accounts.
    private func noteNew() async throws -> Bool {
        try await cloud.store.write([AccountStore.partition, .rowsFormat]) { transaction in
            guard try await transaction.isWithoutRows() else { return false }
            try transaction.set(RowsFormat(number: Self.newest))
            return true
        }
    }

    /// Returns whether a node serves the store at this moment.
    package func isServed() async throws -> Bool {
        let before = try await nodes()
        guard !before.isEmpty else { return false }
        try await cloud.serverEnvironment.sleep(Self.signOfLife)
        let after = try await nodes()
        return after.contains { id, row in row.beat != before[id]?.beat }
    }

    private func nodes() async throws -> [String: NodeRow] {
        try await cloud.store.read(.nodes) { try await NodeTable($0).nodes }
    }
}
