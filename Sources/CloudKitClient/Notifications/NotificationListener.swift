import CloudKitWire
import Synchronization

/// One who listens: holds what has arrived and was not asked for yet.
package final class NotificationListener: Sendable {
    fileprivate struct State {
        var waiting: [(notification: PayloadValue, batch: Int)] = []
        /// The batch of the last delivered notification.
        var inHand: Int?
        var asking: CheckedContinuation<PayloadValue?, Never>?
        var isOver = false
        /// Batches that came while nothing waited for this listener are none of its business.
        var lastBatch = 0
    }

    private let state = Mutex(State())
    private let hub: NotificationHub
    private let id: Int

    /// Notifications held for one who does not ask; of more, the oldest go.
    private static let waitingMax = 1000

    /// Creates a listener for the batches after `lastBatch`.
    package init(hub: NotificationHub, id: Int, lastBatch: Int) {
        self.hub = hub
        self.id = id
        state.withLock { $0.lastBatch = lastBatch }
    }

    deinit { hub.leave(id) }

    /// The next notification; nil when the task is cancelled.
    package func next() async -> PayloadValue? {
        let taken = take()
        hub.listenerHasMoved()
        if let taken { return taken }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> (isReady: Bool, PayloadValue?) in
                    if state.isOver || Task.isCancelled { return (true, nil) }
                    if !state.waiting.isEmpty { return (true, state.dequeue()) }
                    state.asking = continuation
                    return (false, nil)
                }
                if answer.isReady { continuation.resume(returning: answer.1) }
            }
        } onCancel: {
            let asking = state.withLock { state in
                state.isOver = true
                return state.asking.take()
            }
            asking?.resume(returning: nil)
        }
    }

    private func take() -> PayloadValue? {
        state.withLock { state in
            state.inHand = nil
            return state.waiting.isEmpty ? nil : state.dequeue()
        }
    }

    /// A batch has arrived.
    func receive(_ notifications: [PayloadValue], batch: Int) {
        let (asking, first) = state.withLock { state in
            state.lastBatch = batch
            state.waiting += notifications.map { ($0, batch) }
            if state.waiting.count > Self.waitingMax {
                state.waiting.removeFirst(state.waiting.count - Self.waitingMax)
            }
            guard !state.waiting.isEmpty, let asking = state.asking.take() else {
                return (nil as CheckedContinuation<PayloadValue?, Never>?, nil as PayloadValue?)
            }
            return (asking, state.dequeue())
        }
        asking?.resume(returning: first)
    }

    /// The newest batch of which this listener has everything behind it.
    var doneThrough: Int {
        state.withLock { state in
            let oldest = [state.inHand, state.waiting.first?.batch].compactMap(\.self).min()
            return oldest.map { $0 - 1 } ?? state.lastBatch
        }
    }
}

extension NotificationListener.State {
    fileprivate mutating func dequeue() -> PayloadValue? {
        guard !waiting.isEmpty else { return nil }
        let first = waiting.removeFirst()
        inHand = first.batch
        return first.notification
    }
}
