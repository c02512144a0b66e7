import Synchronization

/// A lock for each key, as `AsyncMutex`; a key whose lock is free takes no memory.
package final class KeyedAsyncMutex<Key: Hashable & Sendable>: Sendable {
    private let queues = Mutex<[Key: LockQueue]>([:])

    /// Creates locks that are free.
    package init() {}

    /// Runs `body` while holding the lock of `key` and returns its result.
    package func withLock<Value>(_ key: Key, _ body: () async throws -> Value) async rethrows -> Value {
        await lock(key)
        defer { unlock(key) }
        return try await body()
    }

    /// The number of keys that are held, for tests.
    var heldCount: Int { queues.withLock { $0.count } }

    private func lock(_ key: Key) async {
        await withCheckedContinuation { continuation in
            let isLocked = queues.withLock { $0[key, default: LockQueue()].lock(continuation) }
            if isLocked { continuation.resume() }
        }
    }

    private func unlock(_ key: Key) {
        let next = queues.withLock { queues -> LockQueue.Waiter? in
            let next = queues[key]?.unlock()
            if next == nil { queues[key] = nil }
            return next
        }
        next?.resume()
    }
}
