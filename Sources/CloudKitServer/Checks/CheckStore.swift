import CloudKitAccounts
import CloudKitRecordLayer
import CloudKitSchema

/// A problem that a check of the store found.
package struct CheckFinding: Hashable, Sendable {
    /// The partition and the row.
    package let place: String
    /// A fixed sentence.
    package let problem: String
    /// An action that solves the problem.
    package let remedy: String

    /// Creates a finding.
    package init(place: String, problem: String, remedy: String) {
        self.place = place
        self.problem = problem
        self.remedy = remedy
    }
}

/// The numbers of a check.
package struct CheckSummary: Hashable, Sendable {
    /// The number of partitions.
    package var partitions = 0
    /// The number of rows whose checksum was verified.
    package var rows = 0
    /// The number of files.
    package var files = 0
    /// The number of problems.
    package var findings = 0
}

/// Checks a store: the checksum of every value, the form of every row, and that rows agree with each other and with the files.
///
/// Each partition is read in one state, so that a running cloud may go on writing. Memory is bounded by the zones of a partition.
package struct CheckStore: Sendable {
    private let cloud: Cloud
    private let isQuick: Bool
    private let report: @Sendable (CheckFinding) -> Void

    private static let rowsAtOnce = 500
    private static let largeRowsAtOnce = 16
    private static let rowsOfQuickCheck = 200
    private static let zonesOfQuickCheck = 20
    private static let changesOfQuickCheck = 20
    private static let fileChunk = 1 << 20
    private static let restore = "restore the store from a backup"

    /// - Parameters:
    ///   - isQuick: Whether only headers, zones, the newest changes and the first rows of other partitions are read.
    ///   - report: Called for each problem.
    package init(_ cloud: Cloud, isQuick: Bool = false, report: @escaping @Sendable (CheckFinding) -> Void) {
        self.cloud = cloud
        self.isQuick = isQuick
        self.report = report
    }

    /// Checks partitions.
    ///
    /// - Parameters:
    ///   - partitions: The names of all partitions of the store.
    ///   - progress: Called with the numbers so far after each partition.
    package func run(
        partitions: [String], progress: @Sendable (CheckSummary) -> Void = { _ in }
    ) async throws -> CheckSummary {
        var summary = CheckSummary()
        for name in partitions {
            let found = try await checkReadable(StoragePartition(name))
            summary.partitions += 1
            summary.rows += found.rows
            summary.files += found.files
            summary.findings += found.findings
            progress(summary)
        }
        return summary
    }

    /// Checks a partition; one that cannot even be opened is a finding like others, and the check goes on behind it.
    private func checkReadable(_ partition: StoragePartition) async throws -> CheckSummary {
        do {
            return try await check(partition)
        } catch let error as StorageError where error.code == .corrupt || error.code == .damagedValue {
            var summary = CheckSummary()
            note(partition, "its beginning", "the store cannot read it", Self.restore, &summary)
            return summary
        }
    }

    private func check(_ partition: StoragePartition) async throws -> CheckSummary {
        try await cloud.store.read(partition) { view in
            var walk = PartitionWalk(view)
            var summary = CheckSummary()
            let isDatabase = DatabaseContext(partition: partition) != nil
            // The bytes of files: a quick check reads none.
            if isQuick, partition.hasLargeValues { return summary }
            let rowsAtOnce = partition.hasLargeValues ? Self.largeRowsAtOnce : Self.rowsAtOnce
            var rows = RowCheck()
            if isQuick { walk.readFirst(Self.rowsOfQuickCheck, headersOnly: isDatabase) }
            do {
                while let batch = try await walk.next(rowsAtOnce) {
                    try await check(batch, of: partition, isDatabase: isDatabase, &rows, view, &summary)
                }
            } catch let error as StorageError where error.code == .corrupt {
                // The other partitions may be whole.
                note(partition, "its rows", "the store cannot read them all", Self.restore, &summary)
                return summary
            }
            if isQuick, isDatabase {
                let newest = try await rows.newestRows(
                    zonesMax: Self.zonesOfQuickCheck, changesMax: Self.changesOfQuickCheck, view)
                try await check(newest, of: partition, isDatabase: true, &rows, view, &summary)
            }
            if walk.isOutOfOrder { note(partition, "its keys", "they are out of order", Self.restore, &summary) }
            if isDatabase, !isQuick, summary.findings == 0 {
                for finding in rows.finish() {
                    note(partition, "\(finding.kind) in \(finding.place)", finding.problem, Self.restore, &summary)
                }
            }
            return summary
        }
    }

    private func check(
        _ batch: [WalkedRow], of partition: StoragePartition, isDatabase: Bool, _ rows: inout RowCheck,
        _ view: StorageReader, _ summary: inout CheckSummary
    ) async throws {
        for row in batch {
            summary.rows += 1
            guard let value = row.value else {
                note(partition, "a row of kind \(row.kind)", "the row is damaged", Self.restore, &summary)
                continue
            }
            let findings =
                isDatabase
                ? try await rows.check(row.key, value, view)
                : try await OwnRows(partition, view).findings(row.key, value)
            for finding in findings {
                note(partition, "\(finding.kind) in \(finding.place)", finding.problem, Self.restore, &summary)
            }
            if isDatabase, let file = rows.file { try await check(file, partition, &summary) }
        }
    }

    private func check(
        _ file: ExpectedFile, _ partition: StoragePartition, _ summary: inout CheckSummary
    ) async throws {
        summary.files += 1
        let place = "file \(file.id.name)"
        let remedy = "restore the file from a backup, or let its device upload it again"
        guard let length = try await cloud.files.length(of: file.id) else {
            return note(partition, place, "the file is missing", remedy, &summary)
        }
        guard length == file.size else {
            return note(partition, place, "the file has \(length) bytes instead of \(file.size)", remedy, &summary)
        }
        if isQuick { return }
        var checksum = AssetFileChecksum()
        do {
            while checksum.count < length {
                let bytes = try await cloud.files.read(file.id, at: checksum.count, count: Self.fileChunk)
                if bytes.isEmpty { break }
                checksum.update(bytes)
            }
        } catch let error as FilesError where error.code == .damaged || error.code == .missing {
            // Gone meanwhile, or noticed by the store of files itself.
        }
        if checksum.text != file.checksum { note(partition, place, "the file is damaged", remedy, &summary) }
    }

    private func note(
        _ partition: StoragePartition, _ place: String, _ problem: String, _ remedy: String,
        _ summary: inout CheckSummary
    ) {
        summary.findings += 1
        report(CheckFinding(place: "\(partition.name): \(place)", problem: problem, remedy: remedy))
    }
}
