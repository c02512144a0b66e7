import CloudUnderTest
import Foundation

/// Runs the measurements and prints their results, and writes them as JSON and as a table on demand.
@main
struct WelkinBench {
    static func main() async throws {
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            if arguments.first == FirstFetch.command { return try await FirstFetch.run(Array(arguments.dropFirst())) }
            let options = try BenchOptions(arguments)
            let bench = try Bench(options)
            defer { bench.end() }
            let failures = try await run(bench, options: options)
            if failures > 0 { throw BenchError("\(failures) of the measurements failed") }
        } catch {
            FileHandle.standardError.write(Data("welkin-bench: \(error)\n".utf8))
            exit(1)
        }
    }

    /// Runs the wanted measurements; one that fails does not keep the others from running.
    ///
    /// - Returns: The number of those that failed.
    private static func run(_ bench: Bench, options: BenchOptions) async throws -> Int {
        var report = Report(quick: options.isQuick)
        var failures = 0
        print(report.heading + "\n")
        for (id, measure) in measurements(of: bench) where options.only.isEmpty || options.only.contains(id) {
            do {
                let results = try await measure()
                for case let comparison as Comparison in results { report.comparisons.append(comparison) }
                for case let figure as Figure in results { report.figures.append(figure) }
                print(results.flatMap(\.lines).joined(separator: "\n") + "\n")
            } catch {
                failures += 1
                FileHandle.standardError.write(Data("\(id)  failed: \(error)\n\n".utf8))
            }
            // After each one, so that a run that is ended leaves what it has.
            fflush(nil)
            if let path = options.json { try report.json.write(to: URL(fileURLWithPath: path)) }
            if let path = options.table { try Data(report.table.utf8).write(to: URL(fileURLWithPath: path)) }
        }
        return failures
    }

    private typealias Measurement = (id: String, measure: () async throws -> [any BenchResult])

    private static func measurements(of bench: Bench) -> [Measurement] {
        func one(_ id: String, _ measure: @escaping () async throws -> Comparison) -> Measurement {
            (id, { [try await measure()] })
        }
        return [
            one("a", bench.batches), one("a+", bench.indexedBatches), one("b", bench.lookups),
            ("c+", bench.requestCosts), one("c", bench.changes), one("d", bench.saves), ("k", bench.costsAgainstSize),
            one("e", bench.clients),
            one("e0", bench.clientsOfEcho), one("e1", bench.clientsOfMillisecondDisk),
            one("e5", bench.clientsOfSlowDisk), one("s", bench.assetSealing), one("v", bench.encryptedValues),
            ("m", bench.firstFetch), one("u", bench.assetTransfers), ("n", bench.notifications),
            ("n4", bench.crowdedNotifications), one("r", bench.returningDevices), one("r+", bench.greedyReaders),
            ("w", bench.idleConnections), ("x", bench.serverMemory), one("p", bench.participants),
            one("t", bench.treeSharing), one("f", bench.firstFetches), one("h", bench.hundred),
            one("h+", bench.subscribedHundred), ("i", bench.identityProofs), one("g", bench.fairness),
            one("g+", bench.fairnessOfTurns), one("l", bench.logging), one("qa", bench.databaseBatches),
            one("qe", bench.databaseSaves), one("qo", bench.databaseSavesOfOnePartition),
            one("qc", bench.databaseCosts), one("qp", bench.databasePartitions), ("qn", bench.nodes),
            ("qh", bench.hints),
        ]
    }
}

/// What a measurement gives.
protocol BenchResult {
    /// The text of the result.
    var lines: [String] { get }
}

extension Comparison: BenchResult {}
extension Figure: BenchResult {}
