import OrderedStore
import Synchronization

/// The outcome of one commit, which all writers that share it wait for.
final class BatchOutcome: Sendable {
    private struct State {
        var outcome: Result<Void, StoreError>?
        var waiting: [CheckedContinuation<Result<Void, StoreError>, Never>] = []
    }

    private let state = Mutex(State())

    /// Reports the outcome to all who wait and who will.
    func finish(_ outcome: Result<Void, StoreError>) {
        let waiting = state.withLock { state in
            state.outcome = outcome
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: outcome) }
    }

    /// Returns when the batch is durable. A cancelled task waits too: it must know whether its write took effect.
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
