import OrderedStore

/// Makes the rows of a store into those of the newest format, a few at a time.
///
/// Each transaction changes one page of rows and notes the place where to go on. So an upgrade that was ended at any moment goes on there, and ends in the
/// same store. From the first transaction on no earlier version takes the store for its own. No cloud may be served from it meanwhile.
package struct UpgradeRows: Sendable {
    private let store: any OrderedStore
    private let steps: [any UpgradeStep]
    private let partitions: [Partition]
    private let rowsAtOnce: Int

    /// - Parameters:
    ///   - store: The store to upgrade.
    ///   - partitions: The names of all partitions of the store.
    ///   - steps: All steps from the first format on.
    ///   - rowsAtOnce: The rows of a page.
    package init(
        _ store: any OrderedStore, partitions: [String], steps: [any UpgradeStep], rowsAtOnce: Int = 200
    ) {
        self.store = store
        self.steps = steps.sorted { $0.format < $1.format }
        self.partitions = Set(partitions).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.map { Partition($0) }
        self.rowsAtOnce = rowsAtOnce
    }

    /// The newest format.
    package var newest: UInt32 { steps.last?.format ?? RowsFormat.first.number }

    /// Returns what an upgrade would do, without writing anything.
    ///
    /// - Parameter progress: Called with the rows that were read so far.
    /// - Throws: `newerFormat`.
    package func plan(progress: (Int) -> Void = { _ in }) async throws -> UpgradePlan {
        let format = try await self.format()
        var plan = UpgradePlan(from: format, to: newest)
        for step in steps(of: format) {
            var line = UpgradePlan.Step(format: step.format, summary: step.summary)
            for partition in partitions(of: step, from: format.upgrade) {
                var next: Bytes? = start(of: step, in: partition, format.upgrade)
                while let key = next {
                    let page = try await store.read(partition) {
                        try await step.page(from: key, limit: rowsAtOnce, in: $0)
                    }
                    line.rowCount += page.rowCount
                    line.changeCount += page.changes.count
                    next = page.next
                    progress(line.rowCount)
                }
            }
            plan.steps.append(line)
        }
        return plan
    }

    /// Upgrades the store.
    ///
    /// - Parameter progress: Called after each transaction with what was done so far.
    /// - Throws: `newerFormat`, and `busy` if another process upgrades the store.
    package func run(progress: (UpgradePlan.Step) -> Void = { _ in }) async throws -> [UpgradePlan.Step] {
        let found = try await format()
        let pending = steps(of: found)
        guard let first = pending.first else { return [] }
        let start = found.upgrade ?? RowsFormat.Position(step: first.format)
        var position = start
        try await move(from: found, to: position)
        var done: [UpgradePlan.Step] = []
        for step in pending {
            if position.step != step.format {
                let next = RowsFormat.Position(step: step.format)
                try await move(from: underWay(position), to: next)
                position = next
            }
            var line = UpgradePlan.Step(format: step.format, summary: step.summary)
            for partition in partitions(of: step, from: position) {
                var next: Bytes? = self.start(of: step, in: partition, position)
                while let key = next {
                    let page = try await change(partition, from: key, by: step, at: &position)
                    line.rowCount += page.rowCount
                    line.changeCount += page.changes.count
                    next = page.next
                    progress(line)
                }
            }
            done.append(line)
        }
        try await move(from: underWay(position), to: nil)
        return done
    }

    /// Changes the rows of a page and notes the place behind it.
    private func change(
        _ partition: Partition, from key: Bytes, by step: any UpgradeStep, at position: inout RowsFormat.Position
    ) async throws -> UpgradePage {
        let held = underWay(position)
        let (page, reached) = try await store.write([partition, .rowsFormat]) { transaction in
            guard try await transaction.namedRowsFormat() == held else { throw StoreError.upgradedElsewhere }
            let page = try await step.page(from: key, limit: rowsAtOnce, in: transaction)
            for change in page.changes {
                if let value = change.value {
                    transaction.set(change.key, value)
                } else {
                    transaction.clear(change.key)
                }
            }
            // Behind the last page lies the next partition: every name that follows is greater than this one with a zero.
            let reached =
                page.next.map { RowsFormat.Position(step: step.format, partition: partition.name, key: $0) }
                ?? RowsFormat.Position(step: step.format, partition: partition.name + "\0")
            try transaction.set(RowsFormat(number: newest, upgrade: reached))
            return (page, reached)
        }
        position = reached
        return page
    }

    /// Notes another place, or the end of the upgrade.
    private func move(from held: RowsFormat, to position: RowsFormat.Position?) async throws {
        let next = RowsFormat(number: newest, upgrade: position)
        try await store.write([.rowsFormat]) { transaction in
            guard try await transaction.namedRowsFormat() ?? .first == held else { throw StoreError.upgradedElsewhere }
            try transaction.set(next)
        }
    }

    private func underWay(_ position: RowsFormat.Position) -> RowsFormat {
        RowsFormat(number: newest, upgrade: position)
    }

    private func format() async throws -> RowsFormat {
        let format = try await store.read(.rowsFormat) { try await $0.rowsFormat() }
        guard format.number <= newest else { throw StoreError.laterRows(format.number, newest: newest) }
        return format
    }

    /// Returns the steps that are not done.
    private func steps(of format: RowsFormat) -> [any UpgradeStep] {
        if let position = format.upgrade { return steps.filter { $0.format >= position.step } }
        return steps.filter { $0.format > format.number }
    }

    private func partitions(of step: any UpgradeStep, from position: RowsFormat.Position?) -> [Partition] {
        let first = position.flatMap { $0.step == step.format ? $0.partition : nil } ?? ""
        return partitions.filter { partition in
            !partition.name.utf8.lexicographicallyPrecedes(first.utf8) && step.applies(to: partition)
        }
    }

    private func start(
        of step: any UpgradeStep, in partition: Partition, _ position: RowsFormat.Position?
    ) -> Bytes {
        guard let position, position.step == step.format, position.partition == partition.name else { return [] }
        return position.key
    }
}

/// What an upgrade does.
package struct UpgradePlan: Hashable, Sendable {
    /// One step, with the rows that it reads and writes.
    package struct Step: Hashable, Sendable {
        /// The format to which it leads.
        package var format: UInt32
        /// The words for operators.
        package var summary: String
        /// The rows that are read.
        package var rowCount = 0
        /// The rows that are written or removed.
        package var changeCount = 0
    }

    /// The format of the store.
    package var from: RowsFormat
    /// The newest format.
    package var to: UInt32
    /// The steps that are not done.
    package var steps: [Step] = []
}

extension StoreError {
    /// The error of a store whose rows a later version has written or begun to upgrade.
    package static func laterRows(_ number: UInt32, newest: UInt32) -> Self {
        Self(
            code: .newerFormat, reason: "a newer version of Welkin wrote the rows of the store",
            remedy: "install that version again, or restore the backup that was taken before the upgrade",
            details: ["rows": String(number), "read": "1 to \(newest)"])
    }

    static let upgradedElsewhere = Self(
        code: .busy, reason: "another process upgrades the store", remedy: "wait until it has finished")
}
