import CDeterministicProcess
import Foundation

/// Runs many histories, several at a time, each in a copy of this process.
struct Campaign {
    private let seeds: Range<Int>
    private let workersMax: Int
    private let isRepeated: Bool
    private let printsTrail: Bool
    private let planted: PlantedFault?
    private let jobsMax: UInt64

    /// - Returns: nil for options that cannot be read.
    init?(_ arguments: Arguments) {
        let first = arguments.number("--seed") ?? arguments.number("--first") ?? 0
        seeds = first..<first + (arguments.has("--seed") ? 1 : arguments.number("--count") ?? 10)
        workersMax = arguments.number("--workers") ?? 1
        isRepeated = arguments.has("--twice")
        printsTrail = arguments.has("--trail")
        planted = arguments.text("--plant").flatMap { PlantedFault(rawValue: $0) }
        guard planted != nil || !arguments.has("--plant") else { return nil }
        jobsMax = UInt64(arguments.number("--jobs") ?? 20_000_000)
    }

    /// A copy of this process with one history.
    private struct Worker {
        var seed: Int
        var process: pid_t
        var output: Int32
    }

    /// Runs the histories and prints those that failed.
    ///
    /// - Returns: Whether all went well.
    func run() -> Bool {
        // What a first history makes for its process, the others find: metadata, tables, keys of the caches.
        _ = Self.outcome(of: .max, planted: nil, jobsMax: jobsMax)
        var workers: [Worker] = []
        var failed: [Int] = []
        var sums: [Int: String] = [:]
        var done = 0
        for seed in seeds.flatMap({ isRepeated ? [$0, $0] : [$0] }) {
            if workers.count == workersMax { finish(workers.removeFirst(), &done, &failed, &sums) }
            if let worker = begin(seed) { workers.append(worker) }
        }
        for worker in workers { finish(worker, &done, &failed, &sums) }
        say(
            "\(done) histories, \(failed.count) failed\(failed.isEmpty ? "" : ": \(failed.map(String.init).joined(separator: " "))")"
        )
        return failed.isEmpty
    }

    private func begin(_ seed: Int) -> Worker? {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { return nil }
        let process = deterministic_fork()
        guard process != 0 else {
            close(ends[0])
            let outcome = Self.outcome(of: UInt64(seed), planted: planted, jobsMax: jobsMax)
            var text = outcome.text
            if printsTrail { text += "\n" + outcome.trail }
            FileHandle(fileDescriptor: ends[1]).write(Data(text.utf8))
            _exit(outcome.isGood ? 0 : 1)
        }
        close(ends[1])
        return Worker(seed: seed, process: process, output: ends[0])
    }

    private func finish(_ worker: Worker, _ done: inout Int, _ failed: inout [Int], _ sums: inout [Int: String]) {
        let data = FileHandle(fileDescriptor: worker.output).readDataToEndOfFile()
        close(worker.output)
        var status: Int32 = 0
        waitpid(worker.process, &status, 0)
        let text = String(decoding: data, as: UTF8.self)
        done += 1
        if done.isMultiple(of: 1000) { say("\(done) histories, \(failed.count) failed") }
        if status != 0 {
            failed.append(worker.seed)
            say("seed \(worker.seed) failed (status \(status)):\n\(text)")
        } else if printsTrail || seeds.count == 1 {
            say(text)
        }
        if let earlier = sums[worker.seed] {
            if earlier != text {
                failed.append(worker.seed)
                say("seed \(worker.seed) ran differently the second time:\n\(earlier)\n\(text)")
            }
            sums[worker.seed] = nil
        } else if isRepeated {
            sums[worker.seed] = text
        }
    }

    /// The end of a history.
    private struct Outcome {
        var isGood: Bool
        var text: String
        var trail: String
    }

    private static func outcome(of seed: UInt64, planted: PlantedFault?, jobsMax: UInt64) -> Outcome {
        let folder = "/dev/shm/welkin-simulation-\(getpid())"
        // A process of the same number may have been killed.
        try? FileManager.default.removeItem(atPath: folder)
        try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // Relative paths are the same in each run.
        guard chdir(folder) == 0 else { return Outcome(isGood: false, text: "no folder", trail: "") }
        setenv("TMPDIR", ".", 1)
        deterministic_begin(seed)
        let history = Shared<History?>(nil)
        let isOver = Shared(false)
        Task {
            history.value = await History.run(seed: seed, planted: planted)
            isOver.value = true
        }
        while !isOver.value, deterministic_jobs() < jobsMax, deterministic_step() {}
        guard let history = history.value else {
            return Outcome(isGood: false, text: isOver.value ? "it could not begin" : "it never ended", trail: "")
        }
        let threads = deterministic_threads()
        var text = "\(history.trail.digest) \(history.trail.count) lines, \(deterministic_jobs()) jobs"
        if threads != 1 { text += ", \(threads) THREADS" }
        for violation in history.violations { text += "\n  \(violation)" }
        return Outcome(
            isGood: history.violations.isEmpty && threads == 1, text: text, trail: history.trail.text)
    }
}
