import AsyncLocks
import CloudUnderTest
import Foundation
import Testing

/// Runs histories of the whole stack, each in a process whose clocks, randomness and order of tasks follow from the history's seed;
/// `script/simulate` runs more of them.
@Suite(.timeLimit(.minutes(60))) struct WholeStackSimulationTests {
    /// A tenth of the seeds of `SimulationTests`: one of these histories takes as long as ten of those.
    private static var count: Int {
        let seeds = ProcessInfo.processInfo.environment["SIMULATION_SEEDS"].flatMap { Int($0) } ?? 100
        return max(10, seeds / 10)
    }

    @Test func `no history of the whole stack breaks an invariant`() async throws {
        let (status, text) = try await run(["--count", "\(Self.count)", "--workers", "2"])
        #expect(status == 0, "repeat with script/simulate --seed N: \(text.suffix(4000))")
    }

    /// From the first of these seeds on the members of a share change while everything else happens, from the second on histories have
    /// everything (`Feature`).
    @Test(arguments: ["500000", "3800000"])
    func `B-TM-05, B-ACP-06 no history with a changing share breaks an invariant`(seed: String) async throws {
        let (status, text) = try await run(["--first", seed, "--count", "\(Self.count / 2)", "--workers", "2"])
        #expect(status == 0, "repeat with script/simulate --seed N: \(text.suffix(4000))")
    }

    /// Answers about a share that others had overtaken could not be asked for again, or the share had ended.
    @Test(arguments: ["500025", "500085"]) func `an overtaken answer is no cloud that went back in time`(
        seed: String
    ) async throws {
        let (status, text) = try await run(["--seed", seed])
        #expect(status == 0, "\(text.suffix(4000))")
    }

    @Test func `a seed that runs twice leaves the same trail`() async throws {
        let (status, text) = try await run(["--first", "3800000", "--count", "4", "--workers", "2", "--twice"])
        #expect(status == 0, "\(text.suffix(4000))")
    }

    /// A save whose answer was lost was reported with the version of another device's edit, over which the next one was written.
    @Test func `a repeated save does not hide what others have changed since`() async throws {
        let (status, text) = try await run(["--seed", "431581"])
        #expect(status == 0, "\(text.suffix(4000))")
    }

    @Test(arguments: ["lost-commit", "swapped-answer", "forged-answer", "lost-notifications"])
    func `a planted fault is noticed`(fault: String) async throws {
        let (status, text) = try await run(["--count", "6", "--workers", "2", "--plant", fault])
        #expect(status == 1, "\(text.suffix(4000))")
    }

    @Test func `a source of chance outside of the seed is noticed`() async throws {
        let (status, text) = try await run(["--count", "1", "--workers", "2", "--twice", "--plant", "chance"])
        #expect(status == 1 && text.contains("differently"), "\(text.suffix(4000))")
    }

    /// Programs run one after the other: fourteen processes at once leave other tests a tenth of two processors, whose time limits
    /// that exceeds. A lock rather than `.serialized`, with which each test would begin behind all others.
    private static let turn = AsyncMutex()

    /// Runs the program.
    private func run(_ arguments: [String]) async throws -> (status: Int32?, output: String) {
        try await Self.turn.withLock { try await ChildProcess.run(program: "whole-stack-simulation", arguments) }
    }
}
