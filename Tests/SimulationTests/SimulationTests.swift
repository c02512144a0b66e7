import Foundation
import PostgresServer
import Testing

/// Simulates many devices of several users against the real server and record layer, checked by a simple model.
///
/// `docs/simulation.md` describes the checks and how to repeat a history.
@Suite(.timeLimit(.minutes(120))) struct SimulationTests {
    /// The number of seeds of `SIMULATION_SEEDS` from `SIMULATION_FIRST_SEED` on, or the seed of `SIMULATION_SEED`. Continuous integration runs 1,000.
    static var batches: [Range<UInt64>] {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["SIMULATION_SEED"].flatMap({ UInt64($0) }) { return [seed..<(seed + 1)] }
        let count = environment["SIMULATION_SEEDS"].flatMap { UInt64($0) } ?? 100
        let first = environment["SIMULATION_FIRST_SEED"].flatMap { UInt64($0) } ?? 0
        return stride(from: first, to: first + count, by: 20).map { $0..<min($0 + 20, first + count) }
    }

    static let steps = ProcessInfo.processInfo.environment["SIMULATION_STEPS"].flatMap { Int($0) } ?? 75

    @Test(arguments: batches)
    func `B-CHG-05, B-SHF-06, B-PRT-12, B-ACP-02 all devices agree, no data is lost, and access is as documented`(
        seeds: Range<UInt64>
    ) async throws {
        var hasFailed = false
        for seed in seeds {
            // Shrinking a history takes the time of a hundred histories, so only the first failure is shrunk.
            if let failure = try await History(seed: seed).failure(isShortened: !hasFailed) {
                Issue.record("\(failure)")
                hasFailed = true
            }
        }
    }
}

extension SimulationTests {
    /// Histories that failed once: a root that kept the tree of its ended share, and an administrator's device with the key of a link.
    @Test(arguments: [UInt64(5970), 5977, 6250])
    func `B-TM-05, B-PRT-07 rare situations of sharing`(seed: UInt64) async throws {
        if let failure = try await History(seed: seed).failure(isShortened: false) { Issue.record("\(failure)") }
    }

    @Test func `B-TM-14 devices of one user compare what they wrote about zones`() async throws {
        var (compared, judged) = (0, 0)
        for seed in UInt64(0)..<20 {
            let (more, others) = try await History(seed: seed).comparisons()
            (compared, judged) = (compared + more, judged + others)
        }
        #expect(compared > 20 && judged > 0, "\(compared) states, \(judged) whole feeds")
    }
}

/// The history of a seed, and its smallest failing part.
struct History {
    let seed: UInt64

    /// One of eight seeds runs on SQLite, all of them on PostgreSQL if the environment says so.
    var engine: Engine { StoreUnderTest.isPostgres ? .postgres : seed % 8 == 7 ? .sqlite : .memory }

    /// Returns the failure, or nil.
    func failure(isShortened: Bool) async throws -> String? {
        let all = Array(0..<SimulationTests.steps)
        guard let first = try await violation(all, engine) else { return nil }
        guard isShortened else { return "SIMULATION_SEED=\(seed) on \(engine.rawValue): \(first.violation)" }
        let steps = try await shrunk(all)
        let least = try await violation(steps, engine) ?? first
        return """
            SIMULATION_SEED=\(seed) on \(engine.rawValue): \(first.violation)
            The least history found that goes wrong, \(steps.count) steps of \(all.count): \(least.violation)
            \(least.history.suffix(60).joined(separator: "\n"))
            """
    }

    /// Returns the number of states that devices compared, and of those times when they read a whole feed.
    func comparisons() async throws -> (compared: Int, judged: Int) {
        let simulation = try await Simulation(seed: seed, engine: engine)
        try await simulation.run(Array(0..<SimulationTests.steps))
        await simulation.world.close()
        return (simulation.statesCompared, simulation.statesJudged)
    }

    private func violation(_ steps: [Int], _ engine: Engine) async throws -> (violation: String, history: [String])? {
        let simulation = try await Simulation(seed: seed, engine: engine)
        var violation: String?
        do {
            try await simulation.run(steps)
        } catch {
            violation = "\(error)"
        }
        await simulation.world.close()
        return violation.map { ($0, simulation.trail.lines) }
    }

    /// Removes smaller and smaller parts while the history still fails.
    private func shrunk(_ all: [Int]) async throws -> [Int] {
        var steps = all
        var size = steps.count / 2
        while size >= 1 {
            var start = 0
            while start < steps.count {
                var fewer = steps
                fewer.removeSubrange(start..<min(start + size, steps.count))
                if try await violation(fewer, engine) != nil { steps = fewer } else { start += size }
            }
            size /= 2
        }
        return steps
    }
}
