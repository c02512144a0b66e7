import ArgumentParser
import CloudKitServer
import OrderedStore

/// Checks the store of a cloud, also while the cloud runs.
struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Check the store for damage.",
        discussion: """
            Verifies the checksum of every stored row, its form, that rows agree with each other and with the \
            files of assets, and the structure of SQLite's file. Prints a line for each problem: place, problem, remedy. The \
            exit status is 0 without a problem and 1 otherwise. It changes nothing and may run beside the cloud.
            """)

    @OptionGroup var folder: DataOptions
    @Flag(help: "Check only the headers, zones and newest changes of databases.")
    var quick = false

    func run() async throws {
        let summary = try await DataFolder.with(folder) { folder in
            let check = CheckStore(folder.cloud, isQuick: quick) { finding in
                Output.result("\(finding.place): \(finding.problem); \(finding.remedy)")
            }
            let names = try await folder.store.partitionNames()
            var summary = try await check.run(partitions: names) { progress in
                if progress.partitions % Self.partitionsPerLine == 0 {
                    Output.remark("\(progress.partitions) of \(names.count) partitions, \(progress.rows) rows")
                }
            }
            if !quick {
                for problem in try await integrityProblems(of: folder.store) {
                    summary.findings += 1
                    Output.result("welkin.sqlite: \(problem); restore the store from a backup")
                }
            }
            return summary
        }
        Output.remark(
            "\(summary.partitions) partitions, \(summary.rows) rows, \(summary.files) files: "
                + (summary.findings == 0 ? "no problems" : "\(summary.findings) problems"))
        if summary.findings > 0 { throw ExitCode(1) }
    }

    private func integrityProblems(of store: any PersistentStore) async throws -> [String] {
        do {
            return try await store.integrityProblems()
        } catch let error as StoreError where error.code == .corrupt {
            return [error.reason]
        }
    }

    private static let partitionsPerLine = 100
}
