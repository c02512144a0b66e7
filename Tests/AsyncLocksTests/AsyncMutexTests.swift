import Synchronization
import Testing

@testable import AsyncLocks

@Suite("Locks that tasks wait for", .timeLimit(.minutes(20)))
struct AsyncMutexTests {
    @Test func `one task at a time holds the lock`() async {
        let mutex = AsyncMutex()
        let holders = Atomic(0)
        let tasks = await started(200) { _ in
            await mutex.withLock {
                #expect(holders.add(1, ordering: .relaxed).newValue == 1)
                await Task.yield()
                holders.subtract(1, ordering: .relaxed)
            }
        }
        for task in tasks { await task.value }
        #expect(holders.load(ordering: .relaxed) == 0)
    }

    @Test func `tasks get the lock in the order in which they asked`() async {
        let mutex = AsyncMutex()
        let order = Mutex<[Int]>([])
        await mutex.lock()
        // More than the queue keeps after they were served.
        let tasks = await started(300) { index in
            await mutex.withLock { order.withLock { $0.append(index) } }
        }
        mutex.unlock()
        for task in tasks { await task.value }
        #expect(order.withLock { $0 } == Array(0..<300))
    }

    @Test func `a cancelled task gets the lock in its turn`() async {
        let mutex = AsyncMutex()
        await mutex.lock()
        let waiting = await started(1) { _ in
            await mutex.withLock { #expect(Task.isCancelled) }
        }
        waiting[0].cancel()
        mutex.unlock()
        await waiting[0].value
        await mutex.withLock {}
    }

    @Test func `a body that throws releases the lock`() async {
        let mutex = AsyncMutex()
        await #expect(throws: CancellationError.self) { try await mutex.withLock { throw CancellationError() } }
        await mutex.withLock {}
    }

    @Test func `keys have locks of their own`() async {
        let mutex = KeyedAsyncMutex<String>()
        await mutex.withLock("a") {
            await mutex.withLock("b") { #expect(mutex.heldCount == 2) }
        }
        #expect(mutex.heldCount == 0)
    }

    @Test func `tasks get the lock of a key in the order in which they asked`() async {
        let mutex = KeyedAsyncMutex<String>()
        let order = Mutex<[Int]>([])
        let tasks = await mutex.withLock("a") {
            await started(100) { index in
                await mutex.withLock("a") { order.withLock { $0.append(index) } }
            }
        }
        for task in tasks { await task.value }
        #expect(order.withLock { $0 } == Array(0..<100))
        #expect(mutex.heldCount == 0)
    }

    /// Tasks that run on the caller's actor up to their first suspension, one after another.
    @MainActor private func started(
        _ count: Int, _ body: @escaping @Sendable (Int) async -> Void
    ) async -> [Task<Void, Never>] {
        (0..<count).map { index in Task.immediate { await body(index) } }
    }
}
