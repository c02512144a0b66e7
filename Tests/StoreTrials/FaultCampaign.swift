import CFaultyFiles
import Foundation
import SeededChance

/// Trials with every fault at every call of a workload, or at a sample of the calls.
struct FaultCampaign {
    /// Trials of each fault, of each of its two durations; nil for all.
    var sample: Int?
    /// The faults; empty for all.
    var names: Set<String> = []
    /// The only call to try.
    var only: Int?
    var generator: SplitMix64

    /// - Returns: Whether no trial found a problem.
    mutating func run() async throws -> Bool {
        var isGood = true
        for fault in Fault.all where names.isEmpty || names.contains(fault.name) {
            // The first trial fills what SQLite and Swift keep for the life of the process.
            _ = try await Self.trial(fault, at: 0, persistent: false)
            let whole = try await Self.trial(fault, at: 0, persistent: false)
            if !whole.problems.isEmpty { isGood = report(fault, 0, false, whole.problems) }
            var trialCount = 0
            var errorCount = 0
            for persistent in fault.canPersist ? [false, true] : [false] {
                for number in numbers(upTo: whole.callCount) {
                    let trial = try await Self.trial(fault, at: number, persistent: persistent)
                    trialCount += 1
                    errorCount += trial.errorCount
                    if !trial.problems.isEmpty { isGood = report(fault, number, persistent, trial.problems) }
                }
            }
            if !fault.isHarmless, only == nil, errorCount == 0 {
                isGood = report(fault, 0, false, ["no trial caused an error"])
            }
            say("\(fault.name): \(trialCount) trials, \(whole.callCount) calls, \(errorCount) errors seen by callers")
        }
        return isGood
    }

    private mutating func numbers(upTo count: Int) -> [Int] {
        if let only { return [only] }
        guard let sample, sample < count else { return Array(1...max(1, count)) }
        // One of each of so many parts of equal length.
        return (0..<sample).map { part in
            let lower = 1 + count * part / sample
            return Int.random(in: lower...max(lower, count * (part + 1) / sample), using: &generator)
        }
    }

    private func report(_ fault: Fault, _ number: Int, _ persistent: Bool, _ problems: [String]) -> Bool {
        for problem in problems {
            say("FAILED \(fault.name) at \(number)\(persistent ? " and from then on" : ""): \(problem)")
        }
        return false
    }

    private struct Result {
        var callCount: Int
        var errorCount: Int
        var problems: [String]
    }

    private static func trial(_ fault: Fault, at number: Int, persistent: Bool) async throws -> Result {
        // A trial that hangs ends the process.
        alarm(60)
        let folder = NSTemporaryDirectory() + "/store-trial-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let before = openFiles()
        let memory = faulty_files_memory()
        let trial = FaultTrial(fault, folder: folder)
        let count = await trial.run(at: number, persistent: persistent)
        var problems = trial.problems
        let left = openFiles().difference(from: before).insertions
        if !left.isEmpty { problems.append("\(left.count) files stay open: \(left)") }
        if number > 0, faulty_files_memory() > memory {
            problems.append("\(faulty_files_memory() - memory) bytes stay allocated")
        }
        return Result(callCount: count, errorCount: trial.errorCount, problems: problems)
    }

    /// Returns the names of everything that this process has open, but for the timers and queues of its runtime, which come when they are first
    /// needed.
    private static func openFiles() -> [String] {
        let links = "/proc/self/fd/"
        return ((try? FileManager.default.contentsOfDirectory(atPath: links)) ?? [])
            .compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: links + $0) }
            .filter { !$0.hasPrefix("anon_inode:") }.sorted()
    }
}
