import CloudUnderTest
import Foundation

/// Runs the measurements and prints them as a table, and optionally as JSON.
@main
struct WelkinBench {
    struct Report: Encodable {
        var processors: Int
        var memoryGiB: Int
        var system: String
        var quick: Bool
        var comparisons: [Comparison]
        var figures: [Figure] = []
    }

    static func main() async throws {
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            if arguments.first == FirstFetch.command { return try await FirstFetch.run(Array(arguments.dropFirst())) }
            let options = try BenchOptions(arguments)
            let bench = try Bench(options)
            defer { bench.end() }
            var report = Report(
                processors: ProcessInfo.processInfo.activeProcessorCount,
                memoryGiB: Int(ProcessInfo.processInfo.physicalMemory >> 30), system: system, quick: options.isQuick,
                comparisons: [])
            print(
                "\(report.processors) processors, \(report.memoryGiB) GiB, \(report.system)"
                    + (options.isQuick ? ", QUICK: a smoke run, the figures are not reliable" : "") + "\n")
            let measurements: [(String, () async throws -> Comparison)] = [
                ("a", bench.batches), ("a+", bench.indexedBatches), ("b", bench.lookups), ("c", bench.changes),
                ("d", bench.saves), ("e", bench.clients), ("e0", bench.clientsOfEcho),
                ("e1", bench.clientsOfMillisecondDisk), ("e5", bench.clientsOfSlowDisk), ("s", bench.assetSealing),
                ("v", bench.encryptedValues), ("u", bench.assetTransfers), ("p", bench.participants),
                ("t", bench.treeSharing), ("f", bench.firstFetches), ("h", bench.hundred),
                ("h+", bench.subscribedHundred), ("g", bench.fairness), ("g+", bench.fairnessOfTurns),
                ("l", bench.logging), ("r", bench.returningDevices), ("r+", bench.greedyReaders),
                ("qa", bench.databaseBatches), ("qe", bench.databaseSaves), ("qo", bench.databaseSavesOfOnePartition),
                ("qc", bench.databaseCosts), ("qp", bench.databasePartitions),
            ]
            for (id, measure) in measurements where options.only.isEmpty || options.only.contains(id) {
                let comparison = try await measure()
                report.comparisons.append(comparison)
                print(comparison.lines.joined(separator: "\n") + "\n")
            }
            if options.only.isEmpty || options.only.contains("qn") {
                let comparisons = try bench.nodes()
                report.comparisons += comparisons
                print(comparisons.flatMap(\.lines).joined(separator: "\n") + "\n")
            }
            if options.only.isEmpty || options.only.contains("k") {
                let comparisons = try bench.costsAgainstSize()
                report.comparisons += comparisons
                print(comparisons.flatMap(\.lines).joined(separator: "\n") + "\n")
            }
            let bounds: [(String, () async throws -> [Figure])] = [
                ("n", bench.notifications), ("n4", bench.crowdedNotifications), ("w", bench.idleConnections),
                ("x", bench.serverMemory),
                ("i", bench.identityProofs), ("m", bench.firstFetch), ("c+", bench.requestCosts),
                ("qh", bench.hints),
            ]
            for (id, measure) in bounds where options.only.isEmpty || options.only.contains(id) {
                let figures = try await measure()
                report.figures += figures
                print(figures.flatMap(\.lines).joined(separator: "\n") + "\n")
            }
            if let path = options.json { try write(report, to: path) }
        } catch {
            FileHandle.standardError.write(Data("welkin-bench: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func write(_ report: Report, to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try encoder.encode(report).write(to: URL(fileURLWithPath: path))
    }

    private static var system: String {
        #if arch(x86_64)
            let architecture = "x86_64"
        #elseif arch(arm64)
            let architecture = "arm64"
        #else
            let architecture = "another architecture"
        #endif
        #if os(Linux)
            return "Linux \(architecture)"
        #else
            return "macOS \(architecture)"
        #endif
    }
}
