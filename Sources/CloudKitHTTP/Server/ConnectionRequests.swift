import HummingbirdCore
import Synchronization

/// The next request of a connection, between its event loop, which receives it, and its task, which answers it.
///
/// There is one at most: a further one stays with the event loop until the one before it has been answered. The task begins with the first
/// request, and ends when the connection does, while a request waits for notifications, or when none has come for some time.
final class ConnectionRequests: Sendable {
    /// A request whose head has arrived, and its body as it arrives.
    struct Item: Sendable {
        var head: RequestHead
        var body: RequestBody
        /// What the request has waited for; nil for one that has just arrived.
        var continued: WaitingRequest?
    }

    private struct State {
        var item: Item?
        var isClosed = false
        var isCancelled = false
        /// Whether a request waits without a task.
        var isWaiting = false
        /// Answers the requests; nil while there is none to answer.
        var task: Task<Void, Never>?
        /// The task, while it waits for a request.
        var waiter: CheckedContinuation<Item?, Never>?
        /// Waits for the end of all requests.
        var end: CheckedContinuation<Void, Never>?

        var hasEnded: Bool { isClosed && !isWaiting && task == nil }
    }

    private let state = Mutex(State())

    // MARK: The event loop

    /// Hands over a request; a new one is dropped once the requests are closed.
    ///
    /// - Parameter makeTask: Begins a task, where there is none. It is called with the lock.
    func add(_ item: Item, startingTask makeTask: () -> Task<Void, Never>) {
        let waiter = state.withLock { state -> CheckedContinuation<Item?, Never>? in
            if item.continued != nil {
                state.isWaiting = false
            } else if state.isClosed {
                return nil
            }
            if let waiter = state.waiter.take() { return waiter }
            state.item = item
            if state.task == nil {
                let task = makeTask()
                if state.isCancelled { task.cancel() }
                state.task = task
            }
            return nil
        }
        waiter?.resume(returning: item)
    }

    /// Ends the requests; one that has been handed over is still answered.
    func close() {
        let (waiter, end) = state.withLock { state in
            state.isClosed = true
            return (state.waiter.take(), state.hasEnded ? state.end.take() : nil)
        }
        waiter?.resume(returning: nil)
        end?.resume()
    }

    /// Ends the task if it waits for a request; the next one begins another. Nothing happens when a request has come since.
    func rest() { state.withLock { $0.waiter.take() }?.resume(returning: nil) }

    // MARK: The task

    /// Waits for the next request; nil once the connection has none any more, or rests: the task ends.
    func next() async -> Item? {
        let item: Item? = await withCheckedContinuation { continuation in
            let answer: Item?? = state.withLock { state in
                if let item = state.item.take() { return .some(item) }
                if state.isClosed { return .some(nil) }
                state.waiter = continuation
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
        return item ?? last()
    }

    /// Notes that the last request waits, which is added again once it goes on: the task ends.
    func waits() { state.withLock { $0.isWaiting = true } }

    /// Takes the request that has come while the task was about to end; nil: the task ends.
    func last() -> Item? {
        // At once: a request that comes in between would be left to a task that ends.
        let (item, end) = state.withLock { state -> (Item?, CheckedContinuation<Void, Never>?) in
            if let item = state.item.take() { return (item, nil) }
            state.task = nil
            return (nil, state.hasEnded ? state.end.take() : nil)
        }
        end?.resume()
        return item
    }

    // MARK: The server

    /// Waits until the requests are closed and all have been answered.
    func waitUntilEnded() async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.end = continuation }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    /// Cancels the task, and ends the requests.
    func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
        close()
    }
}
