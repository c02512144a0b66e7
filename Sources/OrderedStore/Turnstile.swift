import Synchronization

/// Lets one task at a time through, in the order of arrival, without holding a thread. For engines.
package final class Turnstile: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        /// Those before it have been let through.
        var next = 0

        mutating func take() -> Bool {
            if isTaken { return false }
            isTaken = true
            return true
        }

        mutating func leave() -> CheckedContinuation<Void, Never>? {
            guard next < waiting.count else {
                waiting.removeAll(keepingCapacity: true)
                next = 0
                isTaken = false
                return nil
            }
            let first = waiting[next]
            next += 1
            if next > 64, next > waiting.count / 2 {
                waiting.removeSubrange(..<next)
                next = 0
            }
            return first
        }
    }

    private let state = Mutex(State())

    package init() {}

    /// Returns when all who entered before have left. Whoever enters must leave.
    package func enter() async {
        if state.withLock({ $0.take() }) { return }
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                if state.take() { return true }
                state.waiting.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    package func leave() {
        state.withLock { $0.leave() }?.resume()
    }
}
