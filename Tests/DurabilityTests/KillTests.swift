import CloudUnderTest
import Foundation
import Testing

/// Promise 4: acknowledged changes survive and partial changes are not visible, also after `kill -9` at any instruction.
@Suite(.serialized, .timeLimit(.minutes(60))) struct KillTests {
    @Test(.timeLimit(.minutes(5)))
    func `B-BAT-02 B-CHG-02 acknowledged changes survive kill -9, batches are whole, feeds have no gaps`() throws {
        let seed =
            ProcessInfo.processInfo.environment["DURABILITY_SEED"].flatMap { UInt64($0) }
            ?? UInt64.random(in: 0...999_999_999)
        let kills = ProcessInfo.processInfo.environment["DURABILITY_KILLS"].flatMap { Int($0) } ?? 50
        print("durability: seed \(seed), \(kills) kills; repeat with DURABILITY_SEED=\(seed)")
        var trial = try Trial(seed: seed)
        defer { trial.end() }
        for round in 1...kills {
            try trial.writeUntilKilled()
            try trial.restartAndReconcile()
            if !trial.faults.isEmpty {
                Issue.record("seed \(seed), kill \(round): \(trial.faults.prefix(5).joined(separator: "; "))")
                return
            }
        }
        try trial.audit()
        print(trial.summary)
        #expect(trial.faults.isEmpty, "seed \(seed): \(trial.faults.prefix(5).joined(separator: "; "))")
        #expect(trial.acknowledged >= kills, "too few requests were acknowledged for the trial to mean anything")
    }
}
