import OrderedStore
import Synchronization

/// The writes that share one commit.
final class Batch: Sendable {
    private struct State {
        var outcome: Result<Void, StoreError>?
        var waiting: [CheckedContinuation<Result<Void, StoreError>, Never>] = []
        var partitions: Set<Partition> = []
        var turnCount = 0
        var byteCount = 0
    }

    private let state = Mutex(State())

    /// The partitions written to.
    var partitions: Set<Partition> { state.withLock { $0.partitions } }

    /// Bodies that had their turn, whatever came of them.
    var turnCount: Int { state.withLock { $0.turnCount } }

    /// Counts a write that was applied.
    func add(_ writes: WriteSet) {
        state.withLock { state in
            for changes in writes.partitions where !changes.isEmpty { state.partitions.insert(changes.partition) }
            state.byteCount += writes.byteCount
        }
    }

    /// Counts a body that had its turn, whatever came of it.
    ///
    /// - Returns: How many there were now, and whether the batch is full.
    func countTurn() -> (turns: Int, isFull: Bool) {
        state.withLock { state in
            state.turnCount += 1
            return (state.turnCount, state.turnCount >= Self.turnsMax || state.byteCount >= Self.bytesMax)
        }
    }

    /// Bounds how long the first has to wait for the commit,
    private static let turnsMax = 256
    /// and how much the log grows by it.
    private static let bytesMax = 4 << 20

    func finish(_ outcome: Result<Void, StoreError>) {
        let waiting = state.withLock { state in
            state.outcome = outcome
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: outcome) }
    }

    /// Returns when the batch is durable. A cancelled task waits too: it must know what became of its write.
    func wait() async throws(StoreError) {
        if let outcome = state.withLock({ $0.outcome }) { return try outcome.get() }
        let outcome = await withCheckedContinuation { continuation in
            let outcome = state.withLock { state in
                if state.outcome == nil { state.waiting.append(continuation) }
                return state.outcome
            }
            if let outcome { continuation.resume(returning: outcome) }
        }
        try outcome.get()
    }
}
