import HTTPTypes
import Hummingbird
import Synchronization

/// The next request of a connection, between its event loop, which receives it, and its task, which answers it.
///
/// There is one at most: a further one stays with the event loop until the one before it has been answered.
final class ConnectionRequests: Sendable {
    /// A request whose head has arrived, and its body as it arrives.
    struct Item: Sendable {
        var head: HTTPRequest
        var body: RequestBody
    }

    private struct State {
        var item: Item?
        var waiter: CheckedContinuation<Item?, Never>?
        var isClosed = false
    }

    private let state = Mutex(State())

    /// Waits for the next request; nil once the connection has none any more.
    func next() async -> Item? {
        await withCheckedContinuation { continuation in
            let answer: Item?? = state.withLock { state in
                if let item = state.item.take() { return .some(item) }
                if state.isClosed { return .some(nil) }
                state.waiter = continuation
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    /// Hands over a request; nothing happens once the queue is closed.
    func add(_ item: Item) {
        let waiter = state.withLock { state -> CheckedContinuation<Item?, Never>? in
            if state.isClosed { return nil }
            if let waiter = state.waiter.take() { return waiter }
            state.item = item
            return nil
        }
        waiter?.resume(returning: item)
    }

    /// Ends the requests; one that has been handed over is still answered.
    func close() {
        let waiter = state.withLock { state in
            state.isClosed = true
            return state.waiter.take()
        }
        waiter?.resume(returning: nil)
    }
}
