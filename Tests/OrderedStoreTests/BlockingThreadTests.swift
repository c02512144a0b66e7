import OrderedStore
import Synchronization
import Testing

@Suite("The thread for work that waits", .timeLimit(.minutes(20)))
struct BlockingThreadTests {
    @Test func `prioritized jobs go before those that wait`() async throws {
        let thread = try BlockingThread.start()
        defer { thread.stop() }
        let order = Order()
        await Task(executorPreference: thread) {
            order.note("waits", on: thread)
            order.note("waits too", on: thread)
            thread.prioritizing {
                order.note("goes first", on: thread)
                order.note("goes next", on: thread)
            }
            order.note("waits last", on: thread)
        }.value
        await order.settle()
        #expect(order.words == ["goes first", "goes next", "waits", "waits too", "waits last"])
    }

    @Test func `idle work is followed by the jobs that it enqueued`() async throws {
        let thread = try BlockingThread.start()
        defer { thread.stop() }
        await withCheckedContinuation { continuation in
            thread.whenIdle(for: 1) {
                thread.prioritizing { Task(executorPreference: thread) { continuation.resume() } }
            }
            // The thread sleeps without end until it is given something; then it learns of the idle work.
            Task(executorPreference: thread) {}
        }
    }

    /// Words in the order in which a thread reached them.
    private final class Order: Sendable {
        private let state = Mutex((words: [String](), tasks: [Task<Void, Never>]()))

        var words: [String] { state.withLock { $0.words } }

        func note(_ word: String, on thread: BlockingThread) {
            let task = Task(executorPreference: thread) { self.state.withLock { $0.words.append(word) } }
            state.withLock { $0.tasks.append(task) }
        }

        func settle() async {
            for task in state.withLock({ $0.tasks }) { await task.value }
        }
    }
}
