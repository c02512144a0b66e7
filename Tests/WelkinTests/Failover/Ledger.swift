import Foundation
import Synchronization

/// What the apps of a failover test have met.
final class Ledger: Sendable {
    private struct State {
        var saved: Set<String> = []
        var deleted: Set<String> = []
        /// The number of acknowledged marks in each tally.
        var marks: [String: Int] = [:]
        var acknowledged = 0
        var errors: [String] = []
        var longest = Duration.zero
        var isEnding = false
    }

    private let state = Mutex(State())

    /// Whether writers finish what they are at, and end.
    var isEnding: Bool { state.withLock { $0.isEnding } }
    var errors: [String] { state.withLock { $0.errors } }
    var longest: Duration { state.withLock { $0.longest } }
    /// The number of operations that were acknowledged.
    var savedCount: Int { state.withLock { $0.acknowledged } }
    var saved: Set<String> { state.withLock { $0.saved } }
    var deleted: Set<String> { state.withLock { $0.deleted } }
    var marks: [String: Int] { state.withLock { $0.marks } }

    func end() { state.withLock { $0.isEnding = true } }

    func note(saved: [String] = [], deleted: [String] = [], mark: String? = nil) {
        state.withLock { state in
            state.acknowledged += 1
            state.saved.formUnion(saved)
            state.deleted.formUnion(deleted)
            if let mark { state.marks[mark, default: 0] += 1 }
        }
    }

    func note(error: any Error, of operation: String) {
        state.withLock { $0.errors.append("\(operation): \(error)") }
    }

    /// Runs an operation of an app, which never fails.
    ///
    /// - Returns: Whether it succeeded.
    func running(_ operation: String, _ body: () async throws -> Void) async -> Bool {
        let start = ContinuousClock.now
        defer {
            let took = ContinuousClock.now - start
            state.withLock { $0.longest = max($0.longest, took) }
        }
        do {
            try await body()
            return true
        } catch {
            note(error: error, of: operation)
            return false
        }
    }

    /// Waits until a number of further operations is acknowledged.
    func progress(_ count: Int) async throws {
        let before = savedCount
        while savedCount < before + count { try await Task.sleep(for: .milliseconds(5)) }
    }
}

/// Random numbers that a seed decides.
struct Chance: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state ^ (state >> 29)
    }
}
