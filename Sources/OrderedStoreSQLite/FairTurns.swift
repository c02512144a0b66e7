import OrderedStore
import Synchronization

/// The lock of the writer: one task at a time holds it, and users get it one after the other.
///
/// A task that asks for it always suspends, so that all who are about to ask have done so before the next one is chosen: jobs of the disk's
/// thread run to their end otherwise, in the order in which they came.
final class FairTurns: Sendable {
    private let queue = Mutex(TurnQueue<CheckedContinuation<Void, Never>>())

    /// Returns in the user's turn. Each call is followed by one of `unlock`. Called on `thread`.
    func lock(for user: String, on thread: BlockingThread) async {
        await withCheckedContinuation { continuation in
            guard queue.withLock({ $0.add(continuation, of: user) }) else { return }
            Task(executorPreference: thread) { [self] in unlock() }
        }
    }

    /// Gives the turn to the next task.
    func unlock() { queue.withLock { $0.next() }?.resume() }

    /// Runs `body` in the user's turn.
    func withLock<Value>(
        for user: String, on thread: BlockingThread, _ body: () throws -> Value
    ) async rethrows -> Value {
        await lock(for: user, on: thread)
        defer { unlock() }
        return try body()
    }
}
