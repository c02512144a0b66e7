import OrderedStore
import Synchronization

/// The outcomes of a workload's writes, and when they were known.
final class Ledger: Sendable {
    enum Outcome {
        case pending, acknowledged
        /// It failed in the store that is open, which shows nothing of it.
        case failed
        /// It failed in a store that was opened again since, which may have found it in the log as a whole.
        case undecided
    }

    struct Line {
        var write: PlannedWrite
        var begun: Int
        var ended: Int?
        var outcome = Outcome.pending
    }

    /// The outcomes after the store is opened again, also after a crash. A write that failed may have reached the log; it is replaced
    /// there by the next that succeeds.
    static func reopened(_ lines: [Line]) -> [Line] {
        lines.map { line in
            guard line.outcome == .failed, let ended = line.ended else { return line }
            let isReplaced = lines.contains { $0.outcome == .acknowledged && $0.begun > ended }
            var line = line
            if !isReplaced { line.outcome = .undecided }
            return line
        }
    }

    private struct State {
        var lines: [Int: Line] = [:]
        var time = 0
    }

    private let state = Mutex(State())
    private let clock: (@Sendable () -> Int)?

    /// - Parameter clock: A number that never decreases; nil counts the events of the ledger.
    init(clock: (@Sendable () -> Int)? = nil) {
        self.clock = clock
    }

    var lines: [Line] { state.withLock { state in state.lines.values.sorted { $0.write.id < $1.write.id } } }

    /// The outcomes as they were known at a time.
    func lines(at time: Int) -> [Line] {
        lines.compactMap { line in
            if line.begun > time { return nil }
            if let ended = line.ended, ended <= time { return line }
            return Line(write: line.write, begun: line.begun)
        }
    }

    /// Notes that the store was opened again.
    func reopen() {
        state.withLock { state in
            let lines = Self.reopened(Array(state.lines.values))
            for line in lines { state.lines[line.write.id] = line }
        }
    }

    func begin(_ write: PlannedWrite) {
        let now = clock?()
        state.withLock { state in
            state.time += 1
            state.lines[write.id] = Line(write: write, begun: now ?? state.time)
        }
    }

    func end(_ write: PlannedWrite, _ outcome: Outcome) {
        let now = clock?()
        state.withLock { state in
            state.time += 1
            state.lines[write.id]?.outcome = outcome
            state.lines[write.id]?.ended = now ?? state.time
        }
    }
}
