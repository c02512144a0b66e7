import Synchronization

/// A lock that one task at a time holds, also across suspension points; tasks that wait for it hold no thread.
///
/// Tasks get the lock in the order in which they asked for it. Waiting is not ended by cancellation: the task gets the lock in its
/// turn and checks for cancellation itself.
package final class AsyncMutex: Sendable {
    private let queue = Mutex(LockQueue())

    /// Creates a lock that is free.
    package init() {}

    /// Returns when all tasks that asked before have released the lock. Each call is followed by one of `unlock`.
    package func lock() async {
        if queue.withLock({ $0.tryLock() }) { return }
        await withCheckedContinuation { continuation in
            let isLocked = queue.withLock { $0.lock(continuation) }
            if isLocked { continuation.resume() }
        }
    }

    /// Releases the lock and resumes the task that waits longest.
    package func unlock() {
        queue.withLock { $0.unlock() }?.resume()
    }

    /// Runs `body` while holding the lock and returns its result.
    package func withLock<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        await lock()
        defer { unlock() }
        return try await body()
    }
}
